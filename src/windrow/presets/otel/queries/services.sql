-- Rate, errors and duration of each operation of a service, every minute.
CREATE STREAM services AS
SELECT service, name, _window_start AS minute, COUNT(*) / 60 AS per_second, COUNT_IF(status = 'ERROR') / COUNT(*) AS error_rate,
       PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY duration_ms) AS p50, PERCENTILE_CONT(0.99) WITHIN GROUP (ORDER BY duration_ms) AS p99,
       HISTOGRAM(duration_ms, 10, 100, 1000) AS buckets, _emission, _revision
FROM spans
GROUP BY service, name
WINDOW TUMBLING(1m) ALLOWED_LATENESS 1m
WITH ('connector' = 'console');

-- The counter of a service: how much it grew, and by how much a second, over five minutes and every minute.
CREATE STREAM counters AS
SELECT service, _window_end AS until, INCREASE(requests_total) AS requests, ROUND(RATE(requests_total), 3) AS per_second
FROM spans
GROUP BY service
WINDOW SLIDING(5m, 1m)
WITH ('connector' = 'console');
