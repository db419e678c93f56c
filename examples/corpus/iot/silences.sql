-- Gaps of more than a minute between two readings of a device.
SELECT device, TIMESTAMPDIFF(SECOND, LAG(_event_time) OVER (PARTITION BY device ORDER BY _event_time), _event_time) AS silent_seconds
FROM readings
QUALIFY silent_seconds > 60;
