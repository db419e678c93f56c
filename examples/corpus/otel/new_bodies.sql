-- Messages that a service has not logged before.
CREATE STREAM logs (time_unix_nano BIGINT, severity_number INT, body STRING, resource STRUCT<service_name: STRING>, attributes MAP<STRING, STRING>, trace_id STRING) WITH (
  'connector' = 'memory', 'event.time.field' = 'time_unix_nano', 'event.time.format' = 'epoch_nanos'
);

SELECT DISTINCT resource.service_name AS service, body
FROM logs
WHERE severity_number >= 17;
