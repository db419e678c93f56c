-- What a user made of a conversation: one row a session, which ends after half an hour of silence or four hours.
-- @metric: llm_journeys_total
-- @metric_help: sessions that ended
-- @metric_condition: _emission = 'final'
-- @metric: llm_abandoned_total
-- @metric_help: sessions that ended without their task done
-- @metric_condition: abandoned AND _emission = 'final'
-- @alert: JourneysAbandoned
-- @alert_condition: RATE(llm_abandoned_total, '1h') > 0.6 * RATE(llm_journeys_total, '1h')
-- @alert_for: 15m
-- @alert_text: more than 60 % of the sessions end without their task done
CREATE STREAM journeys AS
SELECT session_id, _window_start AS since, COUNT(*) AS steps,
       TIMESTAMPDIFF(SECOND, MIN(ts), MAX(ts)) AS seconds,
       ROUND(AVG(rating), 3) AS rating,
       COUNT(*) FILTER (WHERE rating >= 4) / COUNT(rating) AS satisfaction,
       COUNT_IF(liked) AS thumbs_up, COUNT_IF(NOT liked) AS thumbs_down,
       COUNT_IF(regenerated) AS regenerations,
       NOT coalesce(BOOL_OR(task_completed), false) AS abandoned, _emission, _revision
FROM feedback
GROUP BY session_id
WINDOW SESSION(30m, MAX 4h)
WITH ('connector' = 'console');
