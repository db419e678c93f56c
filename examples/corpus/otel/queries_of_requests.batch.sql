SELECT r.name AS request, q.duration_time_unix_nano / 1e6 AS millis FROM spans AS r JOIN spans AS q ON q.trace_id = r.trace_id AND q.name = 'SELECT' AND r.parent_span_id IS NULL
