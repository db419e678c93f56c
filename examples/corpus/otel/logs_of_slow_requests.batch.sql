SELECT s.trace_id, s.name, l.body FROM spans AS s JOIN logs AS l ON l.trace_id = s.trace_id AND abs(l.time_unix_nano - s.start_time_unix_nano) <= 30000000000
WHERE s.duration_time_unix_nano > 200000000 AND s.parent_span_id IS NULL AND l.severity_number >= 17
