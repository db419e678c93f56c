-- Pages each minute: views, visitors, how long they took, and the share that failed.
CREATE STREAM pages AS
SELECT page, _window_start AS minute, COUNT(*) AS views, COUNT(DISTINCT visitor) AS visitors,
       PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY ms) AS p95_ms, COUNT_IF(status >= 500) / COUNT(*) AS failed, _emission, _revision
FROM views
GROUP BY page
WINDOW TUMBLING(1m) TRIGGER EVERY 10s OR ON WATERMARK ALLOWED_LATENESS 1m
WITH ('connector' = 'console');
