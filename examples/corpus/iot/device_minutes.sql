-- What each device measured in a minute: extremes, mean and spread; one value has no deviation.
SELECT device, _window_start AS minute, COUNT(*) AS n, MIN(celsius) AS low, MAX(celsius) AS high, ROUND(AVG(celsius), 3) AS mean, ROUND(STDDEV(celsius), 3) AS deviation
FROM readings
GROUP BY device
WINDOW TUMBLING(1m);
