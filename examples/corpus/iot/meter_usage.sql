-- What a counter went up by in each quarter of an hour: its last value less its first, by event time although rows
-- are out of order.
SELECT meter, _window_start AS since, LATEST(total) - EARLIEST(total) AS used
FROM counters
GROUP BY meter
WINDOW TUMBLING(15m);
