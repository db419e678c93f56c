-- A reading above 90 degrees makes its window emit at once; every window also emits when it closes.
SELECT device, MAX(celsius) AS peak, COUNT(*) AS readings, _emission
FROM readings
GROUP BY device
WINDOW TUMBLING(1m) TRIGGER WHEN celsius > 90 OR ON WATERMARK;
