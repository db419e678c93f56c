-- @owner: market data
CREATE STREAM trades (symbol STRING NOT NULL, price DOUBLE, volume BIGINT, ts BIGINT)
WITH ('connector' = 'generator', 'rows' = '20000', 'rows.per.second' = 'max', 'disorder' = '5s',
      'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '5s');

CREATE STREAM candles AS
SELECT symbol, _window_start AS opened, FIRST(price) AS open, MAX(price) AS high, MIN(price) AS low, LAST(price) AS close,
       SUM(volume) AS volume, _emission AS kind
FROM trades
WHERE price > 0
GROUP BY symbol
WINDOW TUMBLING(1m) ALLOWED_LATENESS 10s
HAVING COUNT(*) > 1
WITH ('connector' = 'files', 'path' = 'candles', 'format' = 'json');
