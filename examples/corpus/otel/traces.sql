-- Whole traces: spans of one trace at most five seconds apart, its root, and how long it took.
CREATE STREAM spans (trace_id STRING, span_id STRING, parent_span_id STRING, name STRING, start_time_unix_nano BIGINT, duration_time_unix_nano BIGINT, status INT) WITH (
  'connector' = 'memory', 'event.time.field' = 'start_time_unix_nano', 'event.time.format' = 'epoch_nanos'
);

SELECT trace_id, COUNT(*) AS spans, MAX(name) FILTER (WHERE parent_span_id IS NULL) AS root,
       (MAX(start_time_unix_nano + duration_time_unix_nano) - MIN(start_time_unix_nano)) / 1e6 AS millis
FROM spans
GROUP BY trace_id
WINDOW SESSION(5s);
