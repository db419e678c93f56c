-- How long a device stays above 80 degrees: hot readings at most a minute apart are one spell.
SELECT device, _window_start AS began, COUNT(*) AS readings, MAX(celsius) AS peak
FROM readings
WHERE celsius > 80
GROUP BY device
WINDOW SESSION(1m);
