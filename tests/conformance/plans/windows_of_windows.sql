-- A window over the output of a window: its event time is the first one's window end.
CREATE STREAM readings (sensor STRING, celsius DOUBLE, taken TIMESTAMP)
WITH ('connector' = 'files', 'path' = 'readings/*.parquet', 'format' = 'parquet', 'event.time.field' = 'taken');

CREATE STREAM minutes AS
SELECT sensor, AVG(celsius) AS mean FROM readings GROUP BY sensor WINDOW TUMBLING(1m) EMIT CHANGES;

CREATE STREAM hours AS
SELECT MAX(mean) AS hottest, COUNT(DISTINCT sensor) AS sensors FROM minutes
WINDOW TUMBLING(1h, OFFSET 15m) LATE_DATA_STRATEGY INCLUDE_IN_NEXT
WITH ('connector' = 'console');
