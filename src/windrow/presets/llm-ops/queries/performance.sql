-- Latency, errors and cost every five minutes: a first view every 30 seconds, the final word when the watermark (2 minutes behind) passes, corrections for 2 more.
CREATE STREAM performance AS
SELECT model, _window_start AS since, COUNT(*) AS requests,
       COUNT(*) / TIMESTAMPDIFF(SECOND, _window_start, _window_end) AS per_second,
       PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY latency_ms) AS latency_p50,
       PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY latency_ms) AS latency_p95,
       PERCENTILE_CONT(0.99) WITHIN GROUP (ORDER BY latency_ms) AS latency_p99,
       PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY first_token_ms) AS first_token_p50,
       PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY first_token_ms) AS first_token_p95,
       COUNT(error) / COUNT(*) AS error_rate,
       SUM(input_tokens) AS tokens_in, SUM(output_tokens) AS tokens_out, _emission, _revision
FROM requests
GROUP BY model
WINDOW TUMBLING(5m) TRIGGER EVERY 30s OR ON WATERMARK ALLOWED_LATENESS 2m
WITH ('connector' = 'console');

-- Errors by their kind.
CREATE STREAM errors AS
SELECT model, error, _window_start AS since, COUNT(*) AS failures, _emission, _revision
FROM requests
WHERE error IS NOT NULL
GROUP BY model, error
WINDOW TUMBLING(5m) TRIGGER EVERY 30s OR ON WATERMARK ALLOWED_LATENESS 2m
WITH ('connector' = 'console');

-- Cost by model and tenant.
CREATE STREAM costs AS
SELECT model, tenant, _window_start AS since, COUNT(*) AS requests, ROUND(SUM(cost), 6) AS dollars,
       SUM(input_tokens) AS tokens_in, SUM(output_tokens) AS tokens_out, _emission, _revision
FROM requests
GROUP BY model, tenant
WINDOW TUMBLING(5m) TRIGGER EVERY 30s OR ON WATERMARK ALLOWED_LATENESS 2m
WITH ('connector' = 'console');
