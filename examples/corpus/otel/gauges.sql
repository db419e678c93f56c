-- The last value of each gauge in a minute, by the time of its points and not by their arrival.
SELECT metric, host, _window_start AS minute, LATEST(value) AS value, COUNT(*) AS points
FROM points
GROUP BY metric, host
WINDOW TUMBLING(1m);
