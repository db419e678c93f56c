-- Sinks that count the rows which they read, and one whose rows wait for nobody.
CREATE STREAM orders (id BIGINT, shop STRING, amount DOUBLE, ts TIMESTAMP) WITH (
  'connector' = 'files', 'path' = 'in/orders', 'event.time.field' = 'ts'
);
CREATE STREAM large AS SELECT id, shop FROM orders WHERE amount > 1000
  WITH ('connector' = 'kafka', 'topic' = 'large', 'bootstrap.servers' = 'localhost:9092');

CREATE STREAM readings (sensor STRING, celsius DOUBLE, ts TIMESTAMP) WITH (
  'connector' = 'files', 'path' = 'in/readings', 'event.time.field' = 'ts'
);
CREATE STREAM hot AS SELECT sensor, celsius FROM readings WHERE celsius > 90
  WITH ('connector' = 'kafka', 'topic' = 'hot', 'bootstrap.servers' = 'localhost:9092', 'on.unavailable' = 'drop');
