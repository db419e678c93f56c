SELECT device, state, _event_time AS since
FROM (SELECT *, lag(state, 1) OVER (PARTITION BY device ORDER BY _event_time) AS before FROM states) WHERE state IS DISTINCT FROM before
