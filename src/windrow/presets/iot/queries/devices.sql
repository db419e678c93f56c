-- A device over five minutes: its temperature, smoothed, and what its meter counted; a meter that is changed begins again at 0.
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
