-- @owner: bob
-- @team: finance
-- @description: what each country has earned in ten minutes, out of what the job shop writes

CREATE STREAM revenue (country STRING, minute TIMESTAMP, orders BIGINT, revenue DOUBLE)
WITH ('connector' = 'files', 'path' = '${DEMO_FOLDER}/revenue', 'format' = 'json', 'event.time.field' = 'minute', 'watermark.delay' = '1m');

CREATE STREAM ten_minutes AS
SELECT country, _window_start AS since, SUM(orders) AS orders, ROUND(SUM(revenue), 2) AS revenue
FROM revenue
GROUP BY country
WINDOW TUMBLING(10m)
WITH ('connector' = 'files', 'path' = '${DEMO_FOLDER}/board', 'format' = 'json');
