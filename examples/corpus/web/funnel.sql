-- How many visitors looked, filled a cart and paid, and the share that paid.
SELECT _window_start AS hour,
       COUNT(DISTINCT visitor) FILTER (WHERE page = '/shop') AS looked,
       COUNT(DISTINCT visitor) FILTER (WHERE page = '/cart') AS filled,
       COUNT(DISTINCT visitor) FILTER (WHERE page = '/pay') AS paid,
       ROUND(paid / looked, 3) AS conversion
FROM clicks
WINDOW TUMBLING(1h);
