SELECT device, s AS silent_seconds
FROM (SELECT device, timestampdiff(SECOND, lag(_event_time) OVER (PARTITION BY device ORDER BY _event_time), _event_time) AS s FROM readings) WHERE s > 60
