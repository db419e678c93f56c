-- Visits: where they began and ended, how many pages they had; half an hour without a view ends one.
-- @metric: visits_total
-- @metric_help: visits that ended
-- @metric_condition: _emission = 'final'
-- @metric: visits_bought_total
-- @metric_help: visits that reached the thanks
-- @metric_condition: bought AND _emission = 'final'
-- @alert: NobodyBuys
-- @alert_condition: INCREASE(visits_total, '1h') > 100 AND INCREASE(visits_bought_total, '1h') <= 0
-- @alert_for: 15m
-- @alert_text: a hundred visits in an hour, and none of them bought
CREATE STREAM visits AS
SELECT visitor, _window_start AS since, COUNT(*) AS views, EARLIEST(page) AS entry, LATEST(page) AS last_page, EARLIEST(referrer) AS referrer,
       TIMESTAMPDIFF(SECOND, MIN(ts), MAX(ts)) AS seconds, COUNT(*) = 1 AS bounced, BOOL_OR(page = '/thanks') AS bought
FROM views
GROUP BY visitor
WINDOW SESSION(30m, MAX 4h)
WITH ('connector' = 'console');
