-- A device that is too hot says so at once, and again when its minute is over.
CREATE STREAM alarms AS
SELECT site, device, _window_start AS minute, MAX(celsius) AS celsius, COUNT_IF(celsius > 80) AS hot, _emission, _revision
FROM readings
GROUP BY site, device
WINDOW TUMBLING(1m) TRIGGER WHEN celsius > 80 OR ON WATERMARK
HAVING hot > 0
WITH ('connector' = 'console');

-- Readings that come one after another within a minute are a spell; the end of one is a device that went silent.
CREATE STREAM spells AS
SELECT site, device, _window_start AS since, MAX(ts) AS last, COUNT(*) AS readings
FROM readings
GROUP BY site, device
WINDOW SESSION(1m, MAX 1d)
WITH ('connector' = 'console');
