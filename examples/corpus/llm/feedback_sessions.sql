-- How a session of feedback went: mean rating, tasks done, answers asked for again, and the share of good ratings.
SELECT session_id, COUNT(*) AS events, ROUND(AVG(rating), 3) AS rating,
       COUNT(*) FILTER (WHERE task_completed) / COUNT(*) AS completion_rate,
       COUNT_IF(regenerated) AS regenerations,
       COUNT(*) FILTER (WHERE rating >= 4) / COUNT(rating) AS satisfaction
FROM feedback
GROUP BY session_id
WINDOW SESSION(30m, MAX 4h) WITH WATERMARK BOUNDED_OUT_OF_ORDERNESS(10m);
