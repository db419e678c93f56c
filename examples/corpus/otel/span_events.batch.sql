SELECT trace_id, name, at_ms FROM spans LATERAL VIEW OUTER inline(events) e AS name, at_ms
