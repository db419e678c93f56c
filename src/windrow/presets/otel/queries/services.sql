-- Rate, errors and duration of each operation of a service, every minute.
-- @metric: service_error_rate
-- @metric_type: gauge
-- @metric_help: share of the spans of an operation that failed
-- @metric_field: error_rate
-- @metric_labels: service, name
-- @metric: service_p99_ms
-- @metric_type: gauge
-- @metric_help: 99th percentile of the duration of an operation, ms
-- @metric_field: p99
-- @metric_labels: service, name
-- @alert: OperationFails
-- @alert_condition: service_error_rate > 0.1
-- @alert_for: 5m
-- @alert_text: more than 10 % of the spans of an operation fail
-- @alert: OperationSlow
-- @alert_condition: service_p99_ms > 1000
-- @alert_for: 5m
-- @alert_text: one span of an operation in a hundred takes longer than a second
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
