-- Log records in the shape of OpenTelemetry: counts by service and minute, and an early word when something is fatal.
CREATE STREAM logs (time_unix_nano BIGINT, severity_text STRING, body STRING, resource STRUCT<service_name: STRING, host_name: STRING>, attributes MAP<STRING, STRING>) WITH (
  'connector' = 'files', 'path' = 'examples/log_counts/input', 'format' = 'json',
  'event.time.field' = 'time_unix_nano', 'event.time.format' = 'epoch_nanos', 'watermark.delay' = '5s'
);

CREATE STREAM log_counts AS
SELECT resource.service_name AS service, _window_start AS minute, COUNT(*) AS records,
       COUNT(*) FILTER (WHERE severity_text IN ('ERROR', 'FATAL')) AS errors,
       COLLECT_SET(attributes['trace_id']) AS traces, _emission
FROM logs
GROUP BY resource.service_name
WINDOW TUMBLING(1m) TRIGGER WHEN severity_text = 'FATAL' OR ON WATERMARK
WITH ('connector' = 'console');
