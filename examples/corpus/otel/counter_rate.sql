-- The rate of a counter that starts again at zero when its process does: falls are not counted.
CREATE STREAM steps AS
SELECT host, GREATEST(value - LAG(value) OVER (PARTITION BY host ORDER BY _event_time), 0) AS step
FROM points;

SELECT host, _window_start AS minute, SUM(step) / 60 AS per_second
FROM steps
GROUP BY host
WINDOW TUMBLING(1m);
