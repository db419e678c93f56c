-- Candles (open, high, low, close, volume) for each symbol and minute, over made-up trades.

-- Trades arrive out of order by up to 5 seconds. Some are late by 90 seconds, and some are broken.
CREATE STREAM trades (symbol STRING, price DOUBLE, volume BIGINT, ts BIGINT)
WITH ('connector' = 'generator', 'rows' = '20000', 'rows.per.second' = 'max', 'rows.per.batch' = '4000', 'seed' = '7',
      'event.interval' = '12ms', 'disorder' = '5s', 'late.share' = '0.002', 'late.by' = '90s', 'bad.share' = '0.001',
      'fields.symbol' = 'choice(ACME:3, GLOBEX:2, INITECH)', 'fields.price' = 'walk(100, 0.02, symbol)', 'fields.volume' = 'uniform(1, 500)',
      'fields.ts' = 'event_time(millis)', 'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '5s');

-- Trades arrive out of order, so the first and the last of a minute go by their own time, not by when they came.
-- A minute is done when the watermark passes its end. For 30 seconds more, late trades correct it; after that they are dead letters.
CREATE STREAM candles AS
SELECT symbol, _window_start AS minute, ROUND(MIN_BY(price, ts), 2) AS open, ROUND(MAX(price), 2) AS high, ROUND(MIN(price), 2) AS low,
       ROUND(MAX_BY(price, ts), 2) AS close, SUM(volume) AS volume, _emission, _revision
FROM trades
WHERE ts >= 1767225600000  -- 2026-01-01 00:00:00: what is older than the stream itself is filtered out
GROUP BY symbol
WINDOW TUMBLING(1m) ALLOWED_LATENESS 30s
WITH ('connector' = 'console', 'rows' = '12');
