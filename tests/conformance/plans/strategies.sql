-- Ways of running that neither the examples nor the other plans here show. tests/spark/test_operators.py runs it, too.
CREATE STREAM clicks (visitor STRING, page STRING, ms INT, ts BIGINT) WITH (
  'connector' = 'files', 'path' = 'in/clicks.json', 'format' = 'json', 'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis'
);
-- Two aggregations that filter and group the same rows alike.
CREATE STREAM pages_a_minute AS SELECT page, COUNT(DISTINCT visitor) AS visitors FROM clicks GROUP BY page WINDOW TUMBLING(1m)
  WITH ('connector' = 'memory');
CREATE STREAM pages_in_five AS SELECT page, SUM(ms) AS ms FROM clicks GROUP BY page WINDOW TUMBLING(5m) WITH ('connector' = 'memory');

CREATE STREAM sales (id BIGINT, shop STRING, items ARRAY<STRING>, amount DOUBLE, ts TIMESTAMP) WITH (
  'connector' = 'files', 'path' = 'in/sales/*.parquet', 'format' = 'parquet', 'event.time.field' = 'ts'
);
CREATE STREAM returns (id BIGINT, shop STRING, amount DOUBLE, ts TIMESTAMP) WITH (
  'connector' = 'files', 'path' = 'in/returns.json', 'format' = 'json', 'event.time.field' = 'ts'
);
CREATE TABLE shops (shop STRING, town STRING, PRIMARY KEY (shop)) WITH (
  'connector' = 'files', 'path' = 'in/shops.json', 'format' = 'json', 'refresh.interval' = '1h'
);
CREATE STREAM items_sold AS SELECT id, item FROM sales, UNNEST(items) AS item WITH ('connector' = 'memory');
CREATE STREAM moves (CONSTRAINT small EXPECT (amount < 1000) ON VIOLATION DEAD_LETTER) AS
  SELECT shop, amount FROM sales UNION ALL SELECT shop, -amount AS amount FROM returns;
CREATE STREAM revenue (CONSTRAINT known EXPECT (shop IS NOT NULL) ON VIOLATION DROP) AS
  SELECT shop, SUM(amount) AS total FROM moves GROUP BY shop WINDOW TUMBLING(1m);
CREATE STREAM ranks AS SELECT shop, RANK() OVER (PARTITION BY _window_start ORDER BY SUM(amount) DESC) AS place
  FROM moves GROUP BY shop WINDOW TUMBLING(1m) WITH ('connector' = 'memory');
CREATE TABLE newest AS SELECT shop PRIMARY KEY, amount FROM moves;
CREATE STREAM in_towns AS SELECT m.shop, s.town, m.amount FROM moves m JOIN shops s ON s.shop = m.shop
  WITH ('connector' = 'memory', 'join.on_missing' = 'wait', 'join.wait.timeout' = '1m');
CREATE STREAM elsewhere AS SELECT shop, total FROM revenue WHERE shop NOT IN (SELECT shop FROM shops) WITH ('connector' = 'memory');
CREATE STREAM held AS SELECT * FROM sales WINDOW TUMBLING(1m) WITH ('connector' = 'memory');
