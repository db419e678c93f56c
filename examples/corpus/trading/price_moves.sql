-- By how much each trade moved the price of its symbol.
SELECT symbol, price, price - LAG(price) OVER (PARTITION BY symbol ORDER BY _event_time) AS move
FROM trades;
