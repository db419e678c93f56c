SELECT w.start AS day, count(*) AS readings, max(celsius) AS peak FROM (SELECT *, window(_event_time, '1 day', '1 day', '6 hours') AS w FROM readings) GROUP BY w
