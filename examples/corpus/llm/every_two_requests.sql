-- A word after every second request of a window, and a last one.
SELECT model, COUNT(*) AS requests, SUM(output_tokens) AS tokens, _emission, _revision
FROM performance
GROUP BY model
WINDOW TUMBLING(5m) TRIGGER EVERY 2 RECORDS OR ON WATERMARK;
