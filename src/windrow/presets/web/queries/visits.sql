-- Visits: where they began and ended, how many pages they had; half an hour without a view ends one.
CREATE STREAM visits AS
SELECT visitor, _window_start AS since, COUNT(*) AS views, EARLIEST(page) AS entry, LATEST(page) AS last_page, EARLIEST(referrer) AS referrer,
       TIMESTAMPDIFF(SECOND, MIN(ts), MAX(ts)) AS seconds, COUNT(*) = 1 AS bounced, BOOL_OR(page = '/thanks') AS bought
FROM views
GROUP BY visitor
WINDOW SESSION(30m, MAX 4h)
WITH ('connector' = 'console');
