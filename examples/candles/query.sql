-- Open, high, low, close and volume of each symbol and minute.
-- A late trade corrects its candle for 30 seconds; after that it is a dead letter.
CREATE STREAM trades (symbol STRING, price DOUBLE, volume INT, ts TIMESTAMP) WITH (
  'connector' = 'files', 'path' = 'examples/candles/input', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'watermark.delay' = '5s'
);

CREATE STREAM candles AS
SELECT symbol, _window_start AS minute, MIN_BY(price, ts) AS open, MAX(price) AS high, MIN(price) AS low,
       MAX_BY(price, ts) AS close, SUM(volume) AS volume, _emission, _revision
FROM trades
GROUP BY symbol
WINDOW TUMBLING(1m) ALLOWED_LATENESS 30s
WITH ('connector' = 'console');
