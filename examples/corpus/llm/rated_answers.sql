-- Feedback beside the request it is about, if it came within ten minutes.
SELECT f.request_id, p.model, p.latency_ms, f.rating
FROM feedback AS f
JOIN performance AS p WITHIN 10m ON p.request_id = f.request_id
WHERE f.rating IS NOT NULL;
