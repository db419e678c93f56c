-- Requests per minute, and the busiest minute of each hour computed from them: a window over the output of a window.
-- A minute has the event time of its last instant, so the one that ends at 11:00 is counted in the hour that ends at 11:00.
CREATE STREAM requests (path STRING, status INT, ts TIMESTAMP) WITH (
  'connector' = 'files', 'path' = 'examples/rollup/input', 'format' = 'json',
  'event.time.field' = 'ts', 'watermark.delay' = '10s'
);

CREATE STREAM per_minute AS
SELECT _window_start AS minute, COUNT(*) AS requests, COUNT_IF(status >= 400) AS failures
FROM requests
WINDOW TUMBLING(1m);

CREATE STREAM per_hour AS
SELECT _window_start AS hour, SUM(requests) AS total, SUM(failures) AS failed,
       MAX(requests) AS busiest, MAX_BY(minute, requests) AS busiest_minute
FROM per_minute
WINDOW TUMBLING(1h)
WITH ('connector' = 'console');
