-- The most viewed page of each ten minutes, with ties.
SELECT page, COUNT(*) AS views, RANK() OVER (PARTITION BY _window_end ORDER BY COUNT(*) DESC) AS place, _window_start AS since
FROM clicks
GROUP BY page
WINDOW TUMBLING(10m)
QUALIFY place = 1;
