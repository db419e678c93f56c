-- A reading above 90 degrees speaks at once; every window also has its last word.
SELECT device, MAX(celsius) AS peak, COUNT(*) AS readings, _emission
FROM readings
GROUP BY device
WINDOW TUMBLING(1m) TRIGGER WHEN celsius > 90 OR ON WATERMARK;
