-- Fields of a JSON payload by their paths; what is missing or no number is NULL and is not averaged.
SELECT device, ROUND(AVG(payload:climate.celsius::DOUBLE), 2) AS celsius, MAX(JSON_VALUE(payload, '$.firmware')) AS firmware, COUNT(*) AS messages
FROM messages
GROUP BY device
WINDOW TUMBLING(1m);
