-- Log records of each service and minute, and the share of errors (severity 17 and above).
CREATE STREAM logs (time_unix_nano BIGINT, severity_number INT, body STRING, resource STRUCT<service_name: STRING>, attributes MAP<STRING, STRING>, trace_id STRING) WITH (
  'connector' = 'memory', 'event.time.field' = 'time_unix_nano', 'event.time.format' = 'epoch_nanos'
);

SELECT resource.service_name AS service, _window_start AS minute, COUNT(*) AS records,
       COUNT(*) FILTER (WHERE severity_number >= 17) AS errors, errors / records AS error_share
FROM logs
GROUP BY resource.service_name
WINDOW TUMBLING(1m);
