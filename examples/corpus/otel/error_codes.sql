-- Which error codes a service reports, with the traces to look at.
CREATE STREAM logs (time_unix_nano BIGINT, severity_number INT, body STRING, resource STRUCT<service_name: STRING>, attributes MAP<STRING, STRING>, trace_id STRING) WITH (
  'connector' = 'memory', 'event.time.field' = 'time_unix_nano', 'event.time.format' = 'epoch_nanos'
);

SELECT attributes['code'] AS code, COUNT(*) AS n, COLLECT_SET(trace_id) AS traces
FROM logs
WHERE attributes['code'] IS NOT NULL
GROUP BY attributes['code']
WINDOW TUMBLING(5m);
