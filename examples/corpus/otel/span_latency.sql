-- Latency of each operation and minute: requests, errors, median and 95th percentile in milliseconds.
CREATE STREAM spans (trace_id STRING, span_id STRING, parent_span_id STRING, name STRING, start_time_unix_nano BIGINT, duration_time_unix_nano BIGINT, status INT) WITH (
  'connector' = 'memory', 'event.time.field' = 'start_time_unix_nano', 'event.time.format' = 'epoch_nanos'
);

SELECT name, _window_start AS minute, COUNT(*) AS spans, COUNT_IF(status = 2) AS errors,
       PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY duration_time_unix_nano / 1e6) AS p50_ms,
       PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY duration_time_unix_nano / 1e6) AS p95_ms
FROM spans
GROUP BY name
WINDOW TUMBLING(1m);
