-- Rows that come after their window has closed are dropped, and counted by the ledger.
SELECT device, _window_start AS minute, COUNT(*) AS n
FROM readings
GROUP BY device
WINDOW TUMBLING(1m) LATE_DATA_STRATEGY DROP;
