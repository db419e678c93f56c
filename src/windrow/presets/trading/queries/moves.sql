-- A trade whose price lies more than four deviations from the five minutes before it: looked at every ten seconds.
-- @metric: unusual_prices_total
-- @metric_help: prices far from those of the five minutes before
-- @metric_labels: symbol
-- @alert: UnusualPrices
-- @alert_condition: INCREASE(unusual_prices_total, '10m') > 10
-- @alert_level: critical
-- @alert_text: prices lie far from those before again and again
CREATE STREAM moves AS
SELECT symbol, _window_end AS until, COUNT(*) AS trades, LATEST(price) AS price, ROUND(ZSCORE(price), 2) AS deviations
FROM trades
GROUP BY symbol
WINDOW SLIDING(5m, 10s)
HAVING ANOMALY(price, 4) AND MAX(ts) >= _window_end - INTERVAL '10' SECOND
WITH ('connector' = 'console');
