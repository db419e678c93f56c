-- An error makes its window emit at once, the rest when the watermark has passed; early panes hold everything so far.
SELECT model, COUNT(*) AS requests, COUNT(error) AS errors, _emission, _revision
FROM performance
GROUP BY model
WINDOW TUMBLING(5m) TRIGGER WHEN error = 'timeout' OR ON WATERMARK;
