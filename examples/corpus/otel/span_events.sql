-- Events inside spans, one row each; spans without an event stay, with NULLs.
CREATE STREAM spans (trace_id STRING, events ARRAY<STRUCT<name: STRING, at_ms: BIGINT>>, at TIMESTAMP) WITH (
  'connector' = 'memory', 'event.time.field' = 'at'
);

SELECT trace_id, name, at_ms
FROM spans
LATERAL VIEW OUTER inline(events) e AS name, at_ms;
