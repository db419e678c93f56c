SELECT trace_id, count(*) AS spans, max(CASE WHEN parent_span_id IS NULL THEN name END) AS root, (max(start_time_unix_nano + duration_time_unix_nano) - min(start_time_unix_nano)) / 1e6 AS millis
FROM spans GROUP BY trace_id
