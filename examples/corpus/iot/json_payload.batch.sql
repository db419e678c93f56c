SELECT device, round(avg(try_cast(get_json_object(payload, '$.climate.celsius') AS DOUBLE)), 2) AS celsius, max(get_json_object(payload, '$.firmware')) AS firmware, count(*) AS messages
FROM messages GROUP BY device, window(_event_time, '1 minute')
