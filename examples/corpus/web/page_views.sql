-- Views and visitors of each page and ten minutes.
SELECT page, _window_start AS since, COUNT(*) AS views, COUNT(DISTINCT visitor) AS visitors
FROM clicks
GROUP BY page
WINDOW TUMBLING(10m);
