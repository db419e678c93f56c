-- Open, high, low, close and volume of each minute; a late trade corrects its candle for half a minute.
CREATE STREAM candles AS
SELECT symbol, _window_start AS minute, EARLIEST(price) AS open, MAX(price) AS high, MIN(price) AS low, LATEST(price) AS close,
       SUM(volume) AS volume, SUM(price * volume) / SUM(volume) AS vwap, _emission, _revision
FROM trades
GROUP BY symbol
WINDOW TUMBLING(1m) ALLOWED_LATENESS 30s
WITH ('connector' = 'console');
