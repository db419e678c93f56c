-- Least and greatest temperature of each device over the last ten minutes, every five minutes.
-- When no reading arrives for a minute, the watermark goes on with the clock, so that the last windows close by themselves.
CREATE STREAM readings (device STRING, celsius DOUBLE, at BIGINT) WITH (
  'connector' = 'files', 'path' = 'examples/sensor_range/input', 'format' = 'json',
  'event.time.field' = 'at', 'event.time.format' = 'epoch_seconds', 'watermark.delay' = '30s', 'watermark.idle_timeout' = '1m'
);

CREATE STREAM sensor_range AS
SELECT device, _window_start AS since, _window_end AS until, MIN(celsius) AS low, MAX(celsius) AS high,
       high - low AS spread, COUNT(*) AS readings
FROM readings
GROUP BY device
WINDOW SLIDING(10m, 5m)
WITH ('connector' = 'console');
