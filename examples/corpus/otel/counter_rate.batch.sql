SELECT host, window(_event_time, '1 minute').start AS minute, sum(step) / 60 AS per_second
FROM (SELECT host, _event_time, greatest(value - lag(value) OVER (PARTITION BY host ORDER BY _event_time), 0) AS step FROM points) GROUP BY host, window(_event_time, '1 minute')
