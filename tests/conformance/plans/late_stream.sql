-- Two statements that form one job: the second reads the rows that came too late for the first.
CREATE STREAM clicks (page STRING, at STRING)
WITH ('connector' = 'files', 'path' = 'clicks', 'format' = 'json', 'event.time.field' = 'at', 'event.time.format' = 'iso8601',
      'watermark.delay' = '30s', 'watermark.idle_timeout' = '1m', 'bad.rows' = 'drop', 'event.time.on_missing' = 'arrival');

CREATE STREAM visits AS
SELECT page, COUNT(*) AS n, _window_end AS until FROM clicks GROUP BY page
WINDOW TUMBLING(5m) WITH WATERMARK BOUNDED_OUT_OF_ORDERNESS(1m) LATE_DATA_STRATEGY DEAD_LETTER INTO stragglers
WITH ('connector' = 'files', 'path' = 'visits', 'format' = 'csv');

SELECT page, at FROM stragglers;
