-- Nexmark q4: the average winning price of each category, when the input has ended.
CREATE STREAM winning AS
SELECT a.id, a.category, MAX(b.price) AS price
FROM auction AS a
JOIN bid AS b WITHIN (0s, 1h) ON b.auction = a.id AND b._event_time <= timestamp_millis(a.expires)
GROUP BY a.id, a.category
EMIT FINAL;

SELECT category, AVG(price) AS price
FROM winning
GROUP BY category
EMIT FINAL;
