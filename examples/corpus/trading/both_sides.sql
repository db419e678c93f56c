-- Buys and sells from two feeds as one stream, then the balance of each minute.
CREATE STREAM signed AS
SELECT symbol, qty AS change FROM buys
UNION ALL
SELECT symbol, -qty AS change FROM sells;

SELECT symbol, SUM(change) AS balance, COUNT(*) AS orders
FROM signed
GROUP BY symbol
WINDOW TUMBLING(1m);
