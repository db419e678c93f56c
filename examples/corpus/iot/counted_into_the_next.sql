-- A late meter reading is billed in the next open interval instead of being lost.
SELECT meter, _window_start AS minute, SUM(kwh) AS kwh
FROM meters
GROUP BY meter
WINDOW TUMBLING(1m) LATE_DATA_STRATEGY INCLUDE_IN_NEXT;
