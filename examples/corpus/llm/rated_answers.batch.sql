SELECT f.request_id, p.model, p.latency_ms, f.rating FROM feedback AS f JOIN performance AS p ON p.request_id = f.request_id AND abs(f._ts - p._ts) <= 600000 WHERE f.rating IS NOT NULL
