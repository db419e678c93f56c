-- A device that is too hot says so at once, and again when its minute is over.
-- @metric: hot_readings_total
-- @metric_help: times that a device was too hot
-- @metric_labels: site, device
-- @metric_condition: _emission = 'early'
-- @alert: DeviceTooHot
-- @alert_condition: INCREASE(hot_readings_total, '5m') > 3
-- @alert_level: critical
-- @alert_text: devices are above 80 degrees again and again
CREATE STREAM alarms AS
SELECT site, device, _window_start AS minute, MAX(celsius) AS celsius, COUNT_IF(celsius > 80) AS hot, _emission, _revision
FROM readings
GROUP BY site, device
WINDOW TUMBLING(1m) TRIGGER WHEN celsius > 80 OR ON WATERMARK
HAVING hot > 0
WITH ('connector' = 'console');

-- Readings that come one after another within a minute are a spell; the end of one is a device that went silent.
-- @metric: silences_total
-- @metric_help: devices that went silent
-- @metric_labels: site
-- @alert: DevicesSilent
-- @alert_condition: INCREASE(silences_total, '15m') > 5
-- @alert_text: more than five devices went silent within a quarter of an hour
CREATE STREAM spells AS
SELECT site, device, _window_start AS since, MAX(ts) AS last, COUNT(*) AS readings
FROM readings
GROUP BY site, device
WINDOW SESSION(1m, MAX 1d)
WITH ('connector' = 'console');
