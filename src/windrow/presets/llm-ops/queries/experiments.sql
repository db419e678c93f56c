-- Two versions of a prompt on each model, every hour: mean scores with 95 % intervals, and whether they differ.
-- @metric: llm_experiments_decided_total
-- @metric_help: hours in which two prompts differed
-- @metric_labels: model
-- @metric_condition: verdict IN ('a is better', 'b is better')
-- @alert: PromptsDiffer
-- @alert_condition: INCREASE(llm_experiments_decided_total, '2h') > 0
-- @alert_level: info
-- @alert_text: one of two prompts is better: the stream experiments says which
CREATE STREAM experiments AS
SELECT model, _window_start AS since,
       COUNT(score) FILTER (WHERE prompt = 'a') AS n_a, COUNT(score) FILTER (WHERE prompt = 'b') AS n_b,
       AVG(score) FILTER (WHERE prompt = 'a') AS mean_a, AVG(score) FILTER (WHERE prompt = 'b') AS mean_b,
       mean_b - mean_a AS difference,
       1.96 * SQRT(VARIANCE(score) FILTER (WHERE prompt = 'a') / n_a + VARIANCE(score) FILTER (WHERE prompt = 'b') / n_b) AS margin,
       difference - margin AS low, difference + margin AS high,
       CASE WHEN margin IS NULL THEN 'too few answers' WHEN low > 0 THEN 'b is better' WHEN high < 0 THEN 'a is better' ELSE 'no difference shown' END AS verdict
FROM requests
GROUP BY model
WINDOW TUMBLING(1h)
WITH ('connector' = 'console');

-- The same question about two models.
CREATE STREAM models AS
SELECT _window_start AS since,
       COUNT(latency_ms) FILTER (WHERE model = 'small') AS n_small, COUNT(latency_ms) FILTER (WHERE model = 'large') AS n_large,
       AVG(latency_ms) FILTER (WHERE model = 'small') AS mean_small, AVG(latency_ms) FILTER (WHERE model = 'large') AS mean_large,
       mean_large - mean_small AS difference,
       1.96 * SQRT(VARIANCE(latency_ms) FILTER (WHERE model = 'small') / n_small + VARIANCE(latency_ms) FILTER (WHERE model = 'large') / n_large) AS margin,
       difference - margin AS low, difference + margin AS high
FROM requests
WINDOW TUMBLING(1h)
WITH ('connector' = 'console');
