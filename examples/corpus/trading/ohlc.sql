-- Candles: the first, highest, lowest and last price of each symbol and minute, by event time.
SELECT symbol, _window_start AS minute, EARLIEST(price) AS open, MAX(price) AS high, MIN(price) AS low, LATEST(price) AS close, SUM(volume) AS volume
FROM trades
GROUP BY symbol
WINDOW TUMBLING(1m);
