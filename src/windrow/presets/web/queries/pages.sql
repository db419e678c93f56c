-- Pages each minute: views, visitors, how long they took, and the share that failed.
-- @metric: page_failed_share
-- @metric_type: gauge
-- @metric_help: share of the views of a page that failed
-- @metric_field: failed
-- @metric_labels: page
-- @metric: page_p95_ms
-- @metric_type: gauge
-- @metric_help: 95th percentile of the time that a page takes, ms
-- @metric_field: p95_ms
-- @metric_labels: page
-- @alert: PageFails
-- @alert_condition: page_failed_share > 0.05
-- @alert_for: 5m
-- @alert_level: critical
-- @alert_text: more than 5 % of the views of a page fail
-- @alert: PageSlow
-- @alert_condition: page_p95_ms > 1000
-- @alert_for: 5m
-- @alert_text: one view of a page in twenty takes longer than a second
CREATE STREAM pages AS
SELECT page, _window_start AS minute, COUNT(*) AS views, COUNT(DISTINCT visitor) AS visitors,
       PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY ms) AS p95_ms, COUNT_IF(status >= 500) / COUNT(*) AS failed, _emission, _revision
FROM views
GROUP BY page
WINDOW TUMBLING(1m) TRIGGER EVERY 10s OR ON WATERMARK ALLOWED_LATENESS 1m
WITH ('connector' = 'console');
