-- Spans of the database beside the request that made them: two queries over one stream, joined within a second.
CREATE STREAM spans (trace_id STRING, span_id STRING, parent_span_id STRING, name STRING, start_time_unix_nano BIGINT, duration_time_unix_nano BIGINT, status INT) WITH (
  'connector' = 'memory', 'event.time.field' = 'start_time_unix_nano', 'event.time.format' = 'epoch_nanos'
);

CREATE STREAM roots AS SELECT trace_id, name AS request FROM spans WHERE parent_span_id IS NULL;

CREATE STREAM queries AS SELECT trace_id, duration_time_unix_nano / 1e6 AS millis FROM spans WHERE name = 'SELECT';

SELECT r.request, q.millis
FROM roots AS r
JOIN queries AS q WITHIN 1s ON q.trace_id = r.trace_id;
