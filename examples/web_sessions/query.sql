-- Visits: page views of one visitor with no pause longer than half an hour, at most four hours long.
CREATE STREAM views (visitor STRING NOT NULL, page STRING, ts TIMESTAMP) WITH (
  'connector' = 'files', 'path' = 'examples/web_sessions/input', 'format' = 'json',
  'event.time.field' = 'ts', 'watermark.delay' = '1m'
);

CREATE STREAM visits AS
SELECT visitor, _window_start AS began, COUNT(*) AS pages, FIRST(page) AS landed_on, LAST(page) AS left_from,
       BOOL_OR(page = '/signup') AS signed_up
FROM views
GROUP BY visitor
WINDOW SESSION(30m, MAX 4h)
WITH ('connector' = 'console');
