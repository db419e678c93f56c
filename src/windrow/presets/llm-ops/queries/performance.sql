-- Latency, errors and cost every five minutes: a first view every 30 seconds, the final word when the watermark (2 minutes behind) passes, corrections for 2 more.
-- @metric: llm_error_rate
-- @metric_type: gauge
-- @metric_help: share of the requests that failed
-- @metric_field: error_rate
-- @metric_labels: model
-- @metric: llm_latency_p99_ms
-- @metric_type: gauge
-- @metric_help: 99th percentile of the latency, ms
-- @metric_field: latency_p99
-- @metric_labels: model
-- @metric: llm_first_token_p99_ms
-- @metric_type: gauge
-- @metric_help: 99th percentile of the time to first token, ms
-- @metric_field: first_token_p99
-- @metric_labels: model
-- @alert: RequestsFail
-- @alert_condition: llm_error_rate > 0.05
-- @alert_for: 5m
-- @alert_text: more than 5 % of the requests to a model fail
-- @alert: ManyRequestsFail
-- @alert_condition: llm_error_rate > 0.2
-- @alert_for: 1m
-- @alert_level: critical
-- @alert_text: more than 20 % of the requests to a model fail
-- @alert: FirstTokenSlow
-- @alert_condition: llm_first_token_p99_ms > 2000
-- @alert_for: 5m
-- @alert_text: one request in a hundred waits longer than 2 seconds for its first token
CREATE STREAM performance AS
SELECT model, _window_start AS since, COUNT(*) AS requests,
       COUNT(*) / TIMESTAMPDIFF(SECOND, _window_start, _window_end) AS per_second,
       PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY latency_ms) AS latency_p50,
       PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY latency_ms) AS latency_p95,
       PERCENTILE_CONT(0.99) WITHIN GROUP (ORDER BY latency_ms) AS latency_p99,
       PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY first_token_ms) AS first_token_p50,
       PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY first_token_ms) AS first_token_p95,
       PERCENTILE_CONT(0.99) WITHIN GROUP (ORDER BY first_token_ms) AS first_token_p99,
       COUNT(error) / COUNT(*) AS error_rate,
       SUM(input_tokens) AS tokens_in, SUM(output_tokens) AS tokens_out, _emission, _revision
FROM requests
GROUP BY model
WINDOW TUMBLING(5m) TRIGGER EVERY 30s OR ON WATERMARK ALLOWED_LATENESS 2m
WITH ('connector' = 'console');

-- What failed of a model in a window, together with how many requests there were.
CREATE STREAM failing AS
SELECT model, _window_start AS since, COUNT(*) AS requests, COLLECT_LIST(error) AS kinds
FROM requests
GROUP BY model
WINDOW TUMBLING(5m) TRIGGER EVERY 30s OR ON WATERMARK ALLOWED_LATENESS 2m
HAVING COUNT(error) > 0;

-- Errors by their kind: how many, and which share of all the requests of the model.
-- @metric: llm_error_rate_by_kind
-- @metric_type: gauge
-- @metric_help: share of the requests that failed in one way
-- @metric_field: error_rate
-- @metric_labels: model, error
-- @metric: llm_failures_total
-- @metric_help: requests that failed, by kind
-- @metric_field: failures
-- @metric_labels: model, error
-- @metric_condition: _emission = 'final'
-- @alert: OneKindOfError
-- @alert_condition: llm_error_rate_by_kind > 0.1
-- @alert_for: 5m
-- @alert_text: one kind of error takes more than 10 % of the requests to a model
CREATE STREAM errors AS
SELECT model, kind AS error, since, size(filter(kinds, one -> one = kind)) AS failures, failures / requests AS error_rate, _emission, _revision
FROM failing CROSS JOIN UNNEST(array_distinct(kinds)) AS each (kind)
WITH ('connector' = 'console');

-- Cost by model and tenant.
-- @metric: llm_dollars_total
-- @metric_help: dollars spent
-- @metric_field: dollars
-- @metric_labels: model, tenant
-- @metric_condition: _emission = 'final'
-- @alert: ExpensiveHour
-- @alert_condition: INCREASE(llm_dollars_total, '1h') > 20
-- @alert_text: more than 20 dollars were spent within an hour
CREATE STREAM costs AS
SELECT model, tenant, _window_start AS since, COUNT(*) AS requests, ROUND(SUM(cost), 6) AS dollars,
       SUM(input_tokens) AS tokens_in, SUM(output_tokens) AS tokens_out, _emission, _revision
FROM requests
GROUP BY model, tenant
WINDOW TUMBLING(5m) TRIGGER EVERY 30s OR ON WATERMARK ALLOWED_LATENESS 2m
WITH ('connector' = 'console');
