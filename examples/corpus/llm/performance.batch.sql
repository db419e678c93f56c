SELECT model, window(_event_time, '5 minutes').start AS since, count(*) AS total_requests, round(avg(latency_ms), 3) AS avg_ms,
  percentile(latency_ms, 0.5) AS p50, percentile(latency_ms, 0.95) AS p95, percentile(latency_ms, 0.99) AS p99, count(error) / count(*) AS error_rate, count(*) / 300 AS per_second
FROM performance GROUP BY model, window(_event_time, '5 minutes')
