-- Only readings in which a device changes its state.
SELECT device, state, _event_time AS since
FROM states
QUALIFY state IS DISTINCT FROM LAG(state) OVER (PARTITION BY device ORDER BY _event_time);
