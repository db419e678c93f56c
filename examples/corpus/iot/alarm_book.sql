-- Two kinds of alarm in one stream: each query inserts its own.
CREATE STREAM alarms (what STRING, device STRING, size DOUBLE) WITH ('connector' = 'memory');

INSERT INTO alarms SELECT 'hot', device, celsius FROM readings WHERE celsius > 90;

INSERT INTO alarms (device, size, what) SELECT device, MAX(celsius) - MIN(celsius), 'swing' FROM readings GROUP BY device WINDOW TUMBLING(1m) HAVING MAX(celsius) - MIN(celsius) > 20;

SELECT what, device, size FROM alarms;
