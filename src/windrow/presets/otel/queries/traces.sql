-- A trace, ten seconds after its last span: how long it took and what failed in it.
CREATE STREAM traces AS
SELECT trace_id, MIN(ts) AS since, COUNT(*) AS spans, COUNT(DISTINCT service) AS services, MAX(duration_ms) AS longest_ms,
       COUNT_IF(status = 'ERROR') AS errors, FIRST(service) FILTER (WHERE status = 'ERROR') AS failed_first
FROM spans
GROUP BY trace_id
WINDOW SESSION(10s, MAX 10m)
HAVING errors > 0
WITH ('connector' = 'console');
