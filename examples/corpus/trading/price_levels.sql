-- The exact median and an estimated ninth decile of the price of each symbol; the estimate is exact for so few rows.
SELECT symbol, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY price) AS median, APPROX_PERCENTILE(price, 0.9) AS p90, MODE(volume) AS usual_volume
FROM trades
GROUP BY symbol
WINDOW TUMBLING(5m);
