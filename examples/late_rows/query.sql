-- Rows that come after their minute has closed form a stream of their own, which is a source like any other.
CREATE STREAM meters (plant STRING, watts INT, ts TIMESTAMP) WITH (
  'connector' = 'files', 'path' = 'examples/late_rows/input', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts'
);

CREATE STREAM usage AS
SELECT plant, _window_start AS minute, SUM(watts) AS watts
FROM meters
GROUP BY plant
WINDOW TUMBLING(1m) LATE_DATA_STRATEGY DEAD_LETTER INTO missed
WITH ('connector' = 'console');

CREATE STREAM usage_corrections AS
SELECT plant, DATE_TRUNC('minute', ts) AS minute, watts AS add_watts
FROM missed
WITH ('connector' = 'console');
