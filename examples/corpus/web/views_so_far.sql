-- Views of this hour so far: EMIT CHANGES PER BATCH gives the last result of a batch only.
SELECT page, COUNT(*) AS views, _emission
FROM clicks
GROUP BY page
WINDOW TUMBLING(1h)
EMIT CHANGES PER BATCH;
