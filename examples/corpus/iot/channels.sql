-- A message with the readings of several channels becomes one row a channel.
CREATE STREAM messages (device STRING, channels ARRAY<STRUCT<name: STRING, value: DOUBLE>>, at TIMESTAMP) WITH (
  'connector' = 'memory', 'event.time.field' = 'at'
);

SELECT name AS channel, COUNT(*) AS n, AVG(value) AS mean
FROM messages
LATERAL VIEW inline(channels) c AS name, value
GROUP BY name
WINDOW TUMBLING(1m);
