-- @owner: carol
-- @team: operations
-- @description: how warm machines were in the last five minutes, and what was too hot, over made-up measurements

CREATE STREAM measurements (machine STRING, celsius DOUBLE, ts BIGINT)
WITH ('connector' = 'generator', 'start.time' = '${DEMO_START}', 'rows.per.second' = '20', 'event.interval' = '400ms', 'disorder' = '3s', 'bad.share' = '0.001', 'partitions' = '4',
      'seed' = '5', 'fields.machine' = 'choice(press, lathe, saw, drill, mill)', 'fields.celsius' = 'normal(60, 12)',
      'fields.ts' = 'event_time(millis)', 'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '5s');

CREATE STREAM warm AS
SELECT machine, _window_start AS since, COUNT(*) AS measured, ROUND(AVG(celsius), 1) AS average, ROUND(MAX(celsius), 1) AS greatest
FROM measurements
GROUP BY machine
WINDOW SLIDING(5m, 1m)
WITH ('connector' = 'files', 'path' = '${DEMO_FOLDER}/warm', 'format' = 'json');

CREATE STREAM hot AS
SELECT machine, celsius, _event_time AS at FROM measurements WHERE celsius > 95
WITH ('connector' = 'files', 'path' = '${DEMO_FOLDER}/hot', 'format' = 'json');
