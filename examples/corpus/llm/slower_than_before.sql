-- A window against the one before it: models whose mean latency rose by more than half.
SELECT model, _window_start AS since, AVG(latency_ms) AS avg_ms,
       LAG(AVG(latency_ms)) OVER (PARTITION BY model ORDER BY _window_end) AS before_ms
FROM performance
GROUP BY model
WINDOW TUMBLING(5m)
QUALIFY avg_ms > 1.5 * before_ms;
