-- The running volume of each symbol: without a window every row updates its group.
SELECT symbol, SUM(volume) AS position, COUNT(*) AS trades
FROM trades
GROUP BY symbol
EMIT CHANGES;
