-- Trades in symbols that are not on the restricted list.
SELECT symbol, price, volume
FROM trades
WHERE symbol NOT IN (SELECT symbol FROM restricted WHERE active);
