-- Each minute of a model, closed 10 seconds after it is over.
CREATE STREAM minutes AS
SELECT model, _window_start AS since, COUNT(*) AS requests, AVG(latency_ms) AS latency_ms, SUM(cost) AS cost, AVG(score) AS score,
       COUNT(error) / COUNT(*) AS error_rate
FROM requests
GROUP BY model
WINDOW TUMBLING(1m) WITH WATERMARK BOUNDED_OUT_OF_ORDERNESS(10s);

-- The newest minute of a model against the ones before it in a quarter of an hour; of fewer than five, nothing is said.
-- @metric: llm_anomalies_total
-- @metric_help: minutes of a model unlike those before
-- @metric_labels: model
-- @alert: ModelUnlikeItself
-- @alert_condition: INCREASE(llm_anomalies_total, '15m') > 0
-- @alert_text: a model behaves unlike the quarter of an hour before: the stream anomalies says why
CREATE STREAM anomalies AS
SELECT model, LATEST(since) AS minute,
       ROUND(ZSCORE(latency_ms), 2) AS latency_z,
       ROUND(LATEST(latency_ms) / ((SUM(latency_ms) - LATEST(latency_ms)) / (COUNT(*) - 1)), 2) AS latency_ratio,
       ROUND(ZSCORE(score), 2) AS score_z,
       ROUND(LATEST(cost) / ((SUM(cost) - LATEST(cost)) / (COUNT(*) - 1)), 2) AS cost_ratio,
       LATEST(error_rate) AS error_rate,
       concat_ws('; ',
         CASE WHEN latency_z > 3 AND latency_ratio > 1.2 THEN concat('latency is ', latency_ratio, ' times the usual (', latency_z, ' deviations)') END,
         CASE WHEN score_z < -3 THEN concat('the score has dropped by ', abs(score_z), ' deviations') END,
         CASE WHEN cost_ratio > 3 THEN concat('a minute costs ', cost_ratio, ' times the usual') END,
         CASE WHEN LATEST(error_rate) > 0.2 THEN concat(CAST(round(100 * LATEST(error_rate)) AS INT), ' % of the requests fail') END) AS reason
FROM minutes
GROUP BY model
WINDOW SLIDING(15m, 1m)
HAVING COUNT(*) > 5 AND reason <> '' AND LATEST(since) >= _window_end - INTERVAL '1' MINUTE
WITH ('connector' = 'console');

-- A critical request makes its window emit at once, with the quarter of an hour that it is the end of.
-- @metric: llm_critical_total
-- @metric_help: times that a critical request spoke at once
-- @metric_labels: model
-- @metric_condition: _emission = 'early'
-- @alert: CriticalRequests
-- @alert_condition: INCREASE(llm_critical_total, '5m') > 10
-- @alert_for: 1m
-- @alert_level: critical
-- @alert_text: requests are refused, overloaded or above 30 seconds again and again
CREATE STREAM critical AS
SELECT model, _window_end AS until, COUNT(*) AS requests, COUNT_IF(error IN ('content_filter', 'overloaded') OR latency_ms > 30000) AS criticals,
       LATEST(error) AS error, ROUND(LATEST(latency_ms) / AVG(latency_ms), 2) AS latency_ratio,
       concat(criticals, ' critical of ', requests, ' requests in 15 minutes') AS reason, _emission, _revision
FROM requests
GROUP BY model
WINDOW SLIDING(15m, 1m) WITH WATERMARK BOUNDED_OUT_OF_ORDERNESS(10s)
       TRIGGER WHEN error IN ('content_filter', 'overloaded') OR latency_ms > 30000 OR ON WATERMARK ALLOWED_LATENESS 1m
HAVING criticals > 0 AND MAX(ts) >= _window_end - INTERVAL '1' MINUTE
WITH ('connector' = 'console');

-- What a tenant has spent of its day, as soon as that is four fifths of the budget, or a tenth of it at twice the pace that lasts the day.
-- @metric: llm_budget_spent
-- @metric_type: gauge
-- @metric_help: share of the budget of the day that is spent
-- @metric_field: spent
-- @metric_labels: tenant
-- @metric: llm_budget_burn
-- @metric_type: gauge
-- @metric_help: how many times too fast the budget of the day is spent
-- @metric_field: burn
-- @metric_labels: tenant
-- @alert: BudgetBurns
-- @alert_condition: llm_budget_burn > 2
-- @alert_for: 10m
-- @alert_text: a tenant spends its budget more than twice as fast as the day lasts
-- @alert: BudgetSpent
-- @alert_condition: llm_budget_spent >= 1
-- @alert_level: critical
-- @alert_text: the budget of the day of a tenant is spent
CREATE STREAM budgets AS
SELECT tenant, _window_start AS day, _window_end AS until, ROUND(SUM(cost), 4) AS dollars,
       SUM(cost) / ${DAILY_BUDGET:-50} AS spent,
       TIMESTAMPDIFF(SECOND, _window_start, _window_end) / 86400 AS passed,
       ROUND(spent / passed, 2) AS burn,
       concat(CAST(round(100 * spent) AS INT), ' % of the budget is spent after ', CAST(round(100 * passed) AS INT), ' % of the day',
              CASE WHEN spent >= 1 THEN ': nothing is left' WHEN burn > 1 THEN concat(': ', burn, ' times too fast, nothing is left at ',
                   date_format(_window_start + make_interval(0, 0, 0, 0, 0, 0, 86400 * passed / spent), 'HH:mm')) ELSE '' END) AS reason
FROM requests
GROUP BY tenant
WINDOW CUMULATE(5m, 1d) WITH WATERMARK BOUNDED_OUT_OF_ORDERNESS(10s)
HAVING spent >= 0.8 OR (spent >= 0.1 AND burn >= 2)
WITH ('connector' = 'console');
