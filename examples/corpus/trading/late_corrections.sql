-- A trade that comes up to half a minute late corrects its minute: the emission is marked late, and its revision
-- counts on.
SELECT symbol, _window_start AS minute, SUM(volume) AS volume, _emission, _revision
FROM trades
GROUP BY symbol
WINDOW TUMBLING(1m) ALLOWED_LATENESS 30s;
