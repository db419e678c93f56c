-- Latency percentiles, error rate and throughput of each model, every five minutes.
SELECT model, _window_start AS since, COUNT(*) AS total_requests,
       ROUND(AVG(latency_ms), 3) AS avg_ms,
       PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY latency_ms) AS p50,
       PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY latency_ms) AS p95,
       PERCENTILE_CONT(0.99) WITHIN GROUP (ORDER BY latency_ms) AS p99,
       COUNT(error) / COUNT(*) AS error_rate,
       COUNT(*) / TIMESTAMPDIFF(SECOND, _window_start, _window_end) AS per_second
FROM performance
GROUP BY model
WINDOW TUMBLING(5m);
