-- Minutes in which a price moved by more than two.
SELECT symbol, _window_start AS minute, MAX(price) - MIN(price) AS spread
FROM trades
GROUP BY symbol
WINDOW TUMBLING(1m)
HAVING spread > 2;
