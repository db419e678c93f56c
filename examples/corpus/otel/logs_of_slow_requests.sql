-- Error logs of traces that took long, found within half a minute of the request.
CREATE STREAM logs (time_unix_nano BIGINT, severity_number INT, body STRING, resource STRUCT<service_name: STRING>, attributes MAP<STRING, STRING>, trace_id STRING) WITH (
  'connector' = 'memory', 'event.time.field' = 'time_unix_nano', 'event.time.format' = 'epoch_nanos'
);

CREATE STREAM spans (trace_id STRING, span_id STRING, parent_span_id STRING, name STRING, start_time_unix_nano BIGINT, duration_time_unix_nano BIGINT, status INT) WITH (
  'connector' = 'memory', 'event.time.field' = 'start_time_unix_nano', 'event.time.format' = 'epoch_nanos'
);

SELECT s.trace_id, s.name, l.body
FROM spans AS s
JOIN logs AS l WITHIN 30s ON l.trace_id = s.trace_id
WHERE s.duration_time_unix_nano > 200000000 AND s.parent_span_id IS NULL AND l.severity_number >= 17;
