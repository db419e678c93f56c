-- Speeds on roads, by minute, into a SQLite table. Roads have names in another table of the same database.
CREATE STREAM speeds (road STRING, kmh DOUBLE, ts TIMESTAMP) WITH (
  'connector' = 'generator', 'rows' = '1000', 'rows.per.second' = 'max', 'event.interval' = '200ms', 'event.time.field' = 'ts',
  'fields.road' = 'choice(North Road, Mill Lane)', 'fields.kmh' = 'uniform(30, 90)'
);

CREATE STREAM means AS
SELECT SLUG(road) AS road, _window_start AS minute, HARMONIC_MEAN(kmh) AS kmh
FROM speeds
GROUP BY SLUG(road)
WINDOW TUMBLING(1m)
WITH ('connector' = 'sqlite', 'path' = '${DATABASE:-speeds.db}', 'table' = 'means');
