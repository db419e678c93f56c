-- How much was traded in the last two minutes, said every minute; windows that start before the first row exist too.
SELECT symbol, _window_start AS since, _window_end AS until, SUM(volume) AS volume
FROM trades
GROUP BY symbol
WINDOW SLIDING(2m, 1m);
