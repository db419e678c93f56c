SELECT w.start AS hour, count(DISTINCT CASE WHEN page = '/shop' THEN visitor END) AS looked, count(DISTINCT CASE WHEN page = '/cart' THEN visitor END) AS filled,
  count(DISTINCT CASE WHEN page = '/pay' THEN visitor END) AS paid,
  round(count(DISTINCT CASE WHEN page = '/pay' THEN visitor END) / count(DISTINCT CASE WHEN page = '/shop' THEN visitor END), 3) AS conversion
FROM (SELECT *, window(_event_time, '1 hour') AS w FROM clicks) GROUP BY w
