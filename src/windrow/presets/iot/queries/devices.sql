-- A device over five minutes: its temperature, smoothed, and what its meter counted; a meter that is changed begins again at 0.
-- @metric: device_celsius
-- @metric_type: gauge
-- @metric_help: mean temperature of a device
-- @metric_field: mean
-- @metric_labels: site, device
-- @metric: device_kwh_total
-- @metric_help: what the meters counted
-- @metric_field: kwh
-- @metric_labels: site
-- @metric_condition: _emission = 'final'
-- @alert: DeviceWarm
-- @alert_condition: device_celsius > 75
-- @alert_for: 10m
-- @alert_text: a device has been above 75 degrees on average
CREATE STREAM devices AS
SELECT site, device, _window_start AS since, COUNT(*) AS readings, ROUND(AVG(celsius), 2) AS mean, MAX(celsius) AS highest,
       ROUND(EWMA(celsius, 0.3), 2) AS smooth, ROUND(INCREASE(kwh), 3) AS kwh, _emission, _revision
FROM readings
GROUP BY site, device
WINDOW TUMBLING(5m) ALLOWED_LATENESS 5m
WITH ('connector' = 'console');

-- How warm a site is: readings up to 20, 40, 60 and above.
CREATE STREAM sites AS
SELECT site, _window_start AS since, HISTOGRAM(celsius, 20, 40, 60) AS counts
FROM readings
GROUP BY site
WINDOW TUMBLING(5m)
WITH ('connector' = 'console');
