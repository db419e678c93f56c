-- Requests that were slower than the limit of their model allows.
SELECT p.request_id, p.model, p.latency_ms - c.limit_ms AS over_by
FROM performance AS p
JOIN model_configs AS c ON c.model = p.model
WHERE p.latency_ms > c.limit_ms;
