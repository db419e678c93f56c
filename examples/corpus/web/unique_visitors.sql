-- Visitors of each hour, estimated in bounded memory; exact below 4,096.
SELECT _window_start AS hour, APPROX_COUNT_DISTINCT(visitor) AS visitors
FROM clicks
WINDOW TUMBLING(1h);
