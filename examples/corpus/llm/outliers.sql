-- Requests that took more than twice the average of the five before them.
SELECT request_id, model, latency_ms, AVG(latency_ms) OVER (ROWS WINDOW BUFFER 6 ROWS PARTITION BY model ORDER BY _event_time ROWS BETWEEN 5 PRECEDING AND 1 PRECEDING) AS usual
FROM performance
QUALIFY latency_ms > 2 * usual;
