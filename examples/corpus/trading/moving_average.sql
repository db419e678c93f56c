-- A moving average over the last three trades of each symbol.
SELECT symbol, price, ROUND(AVG(price) OVER (PARTITION BY symbol ORDER BY _event_time ROWS BETWEEN 2 PRECEDING AND CURRENT ROW), 3) AS average
FROM trades
WHERE symbol <> 'CORE';
