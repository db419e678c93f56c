-- One row a symbol when the input ends, and none before.
SELECT symbol, COUNT(*) AS trades, MAX_BY(price, volume) AS price_of_largest, LATEST(price) AS last_price
FROM trades
GROUP BY symbol
EMIT FINAL;
