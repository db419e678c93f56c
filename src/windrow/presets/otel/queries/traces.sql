-- A trace, ten seconds after its last span: how long it took and what failed in it.
-- @metric: failed_traces_total
-- @metric_help: traces with an error
-- @metric_labels: failed_first
-- @alert: TracesFail
-- @alert_condition: RATE(failed_traces_total, '5m') > 1
-- @alert_for: 5m
-- @alert_level: critical
-- @alert_text: more than one trace a second has an error
CREATE STREAM traces AS
SELECT trace_id, MIN(ts) AS since, COUNT(*) AS spans, COUNT(DISTINCT service) AS services, MAX(duration_ms) AS longest_ms,
       COUNT_IF(status = 'ERROR') AS errors, FIRST(service) FILTER (WHERE status = 'ERROR') AS failed_first
FROM spans
GROUP BY trace_id
WINDOW SESSION(10s, MAX 10m)
HAVING errors > 0
WITH ('connector' = 'console');
