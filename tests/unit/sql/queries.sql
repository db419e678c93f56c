-- Queries that must parse, survive a round trip through the formatter, and know their places. A blank line ends each one.

SELECT id, amount AS total FROM orders

SELECT 42 AS constant, 'test' AS message FROM orders

SELECT * FROM orders

SELECT status FROM orders

SELECT id, value FROM stream WHERE value > 75

SELECT * FROM stream WHERE false

SELECT customer_id, amount FROM orders LIMIT 2

SELECT DISTINCT name FROM test_stream

SELECT price FROM test_stream WHERE price BETWEEN 10 AND 100

SELECT CASE WHEN status = 'active' THEN 1 ELSE 0 END AS is_active FROM test_stream

SELECT CASE WHEN status = 'inactive' THEN 1 END AS inactive_flag FROM test_stream

SELECT CASE WHEN amount > 100 THEN 'high' WHEN amount > 50 THEN 'medium' ELSE 'low' END AS amount_tier FROM test_stream

SELECT CASE WHEN priority = 'high' THEN amount * 2 ELSE amount END AS adjusted_amount FROM test_stream

SELECT max_price - min_price AS price_range, price_range * 2 AS double_range, double_range + 5 AS adjusted_range FROM trades

SELECT volume / avg_volume AS spike_ratio, spike_ratio * 100 AS spike_percentage FROM trades

SELECT customer_id, SUM(amount) AS total FROM orders GROUP BY customer_id

SELECT customer_id, SUM(amount) AS total FROM orders GROUP BY customer_id HAVING SUM(amount) > 250

SELECT customer_id, COUNT(*) AS cnt, AVG(amount) AS avg_amount, MIN(amount) AS min_amount, MAX(amount) AS max_amount FROM orders GROUP BY customer_id

SELECT customer_id, VARIANCE(amount) AS v FROM orders GROUP BY customer_id

SELECT customer_id, FIRST(product) AS f, LAST(product) AS l FROM orders GROUP BY customer_id

SELECT k, DELTA(price) AS d FROM t GROUP BY k

SELECT k, SUM(q) AS s FROM t GROUP BY k

SELECT station, MIN(temperature) AS min_temp FROM measurements GROUP BY station EMIT FINAL

SELECT status, COUNT(*) AS order_count, SUM(amount) AS total_amount FROM orders GROUP BY status EMIT CHANGES

SELECT COUNT(*) AS order_count FROM orders WINDOW TUMBLING(5s)

SELECT SUM(amount) AS total_amount FROM orders WINDOW TUMBLING(5s)

SELECT AVG(amount) AS avg_amount FROM orders WINDOW TUMBLING(5s)

SELECT MIN(amount) AS min_amount, MAX(amount) AS max_amount FROM orders WINDOW TUMBLING(5s)

SELECT COUNT(*) AS high_value_orders FROM orders WHERE amount > 250.0 WINDOW TUMBLING(5s)

SELECT COUNT(*) AS order_count FROM orders WINDOW TUMBLING(5s) HAVING COUNT(*) >= 2

SELECT COUNT(*) FROM stream WINDOW TUMBLING(60s)

SELECT customer_id, SUM(amount) AS window_total FROM orders GROUP BY customer_id WINDOW TUMBLING(5m)

SELECT symbol, _window_start AS window_start, _window_end AS window_end, AVG(price) AS avg_price FROM market_data GROUP BY symbol WINDOW TUMBLING(10s) EMIT CHANGES

SELECT symbol, COUNT(*) AS c FROM market_data GROUP BY market_data.symbol WINDOW TUMBLING(10s) EMIT CHANGES

SELECT region_id, SUM(amount) AS s FROM sales GROUP BY region_id WINDOW TUMBLING(10s) EMIT CHANGES

SELECT COUNT(*) AS order_count FROM orders WINDOW SESSION(3s)

SELECT id, ROW_NUMBER() OVER (ROWS WINDOW BUFFER 100 ROWS) AS row_num FROM test_stream

SELECT id, value, LAG(value) OVER (ROWS WINDOW BUFFER 100 ROWS) AS prev_value FROM test_stream

SELECT symbol, price, AVG(price) OVER (ROWS WINDOW BUFFER 100 ROWS PARTITION BY symbol ORDER BY timestamp) AS moving_avg FROM market_data

SELECT symbol, COUNT(*) OVER (ROWS WINDOW BUFFER 10 ROWS PARTITION BY symbol ORDER BY timestamp) AS n FROM market_data

SELECT o.order_id FROM orders o JOIN shipments s ON o.order_id = s.order_id AND s._event_time BETWEEN o._event_time AND o._event_time + INTERVAL '1' SECOND

SELECT ABS(negative_num) AS a, ROUND(amount) AS r, ROUND(amount, 2) AS r2, CEIL(amount) AS c, FLOOR(amount) AS f, MOD(quantity, 10) AS m, POWER(2, 3) AS p FROM test_stream

SELECT CONCAT('Hello ', 'World') AS c, LENGTH(product_name) AS l, TRIM(description) AS t, UPPER(product_name) AS u, REPLACE(product_name, 'Test', 'Demo') AS r, LEFT(product_name, 4) AS lf, RIGHT(product_name, 7) AS rt, POSITION('t', product_name) AS p, POSITION('xyz', product_name) AS p0 FROM test_stream

SELECT CONCAT('Order ', quantity, ' at $', ROUND(amount, 2)) AS s FROM test_stream

SELECT LENGTH(NULL) AS a, UPPER(NULL) AS b, TRIM(NULL) AS c, ABS(NULL) AS d FROM test_stream

SELECT UNIX_TIMESTAMP(FROM_UNIXTIME(u)) AS r FROM t

SELECT CAST(x AS STRING) AS s, CAST(x AS INTEGER) AS i FROM t

SELECT a / b AS q FROM t

SELECT id, SET_HEADER('trace-id', 'abc123') AS trace FROM test_stream

SELECT customer_id FROM orders WHERE _partition = 0

SELECT nonexistent_column FROM orders

SELECT * FROM test_stream WHERE nonexistent = 'value'

SELECT status, COUNT(id) AS count FROM test_stream GROUP BY missing_field

SELECT status + 10 AS x FROM orders

SELECT ROW_NUMBER(1) OVER (ROWS WINDOW BUFFER 100 ROWS) AS r FROM t

SELECT LAG(value, -1) OVER (ROWS WINDOW BUFFER 100 ROWS) AS r FROM t

SELECT UNKNOWN_FUNCTION() OVER (ROWS WINDOW BUFFER 100 ROWS) AS r FROM t

SELECT STDDEV() AS s FROM test_stream

SELECT _window_start AS s, COUNT(*) AS n, _emission AS kind, _revision AS rev FROM t WINDOW TUMBLING(10s)

SELECT _window_start AS s, COUNT(*) AS n, _emission AS kind, _revision AS rev FROM t WINDOW TUMBLING(10s) LATE_DATA_STRATEGY DROP

SELECT _window_start AS s, COUNT(*) AS n, _emission AS kind, _revision AS rev FROM t WINDOW TUMBLING(10s) ALLOWED_LATENESS 10s

CREATE STREAM agg AS SELECT _window_start AS s, COUNT(*) AS n FROM t WINDOW TUMBLING(10s) LATE_DATA_STRATEGY DEAD_LETTER INTO too_late; CREATE STREAM fixed AS SELECT v * 10 AS v10 FROM too_late

CREATE STREAM t (v INT) WITH ('connector' = 'memory', 'watermark.idle_timeout' = '30s'); CREATE STREAM out AS SELECT _window_start AS s, COUNT(*) AS n, _emission AS kind, _revision AS rev FROM t WINDOW TUMBLING(10s)

SELECT k, COUNT(*) AS n FROM t GROUP BY k WINDOW TUMBLING(10s) EMIT CHANGES

SELECT k, COUNT(*) AS n FROM t GROUP BY k WINDOW TUMBLING(10s) EMIT CHANGES PER BATCH

SELECT _window_start AS s, COUNT(*) AS n, _emission AS kind FROM t WINDOW TUMBLING(10s) TRIGGER EVERY 2 RECORDS OR ON WATERMARK

SELECT _window_start AS s, MAX(v) AS hi, _emission AS kind FROM t WINDOW TUMBLING(1m) TRIGGER WHEN v >= 90 OR ON WATERMARK

SELECT COUNT(*) AS n, _window_start AS s, _window_end AS e FROM t WINDOW SESSION(5s)

SELECT k, COUNT(*) AS n FROM t GROUP BY k WINDOW SESSION(5s)

SELECT k, COUNT(*) AS n, SUM(v) AS total FROM t GROUP BY k WINDOW ROWS(2)

SELECT _window_start AS s, COUNT(*) AS n FROM t GROUP BY 'x' WINDOW TUMBLE(INTERVAL '10' SECOND, _event_time)

SELECT model, AVG(latency_ms) AS avg_ms, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY latency_ms) AS p50, PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY latency_ms) AS p95, PERCENTILE_CONT(0.99) WITHIN GROUP (ORDER BY latency_ms) AS p99, COUNT(error) / COUNT(*) AS error_rate, COUNT(*) AS total_requests FROM perf GROUP BY model WINDOW TUMBLING(5m)

SELECT k, COUNT(*) AS n FROM t WINDOW TUMBLING(10s) GROUP BY k EMIT FINAL

WITH big AS (SELECT k, v FROM t WHERE v > 1) SELECT x.k, x.v * 2 AS w FROM (SELECT k, v FROM big WHERE v < 10) x

CREATE STREAM s1 AS SELECT k, v + 1 AS v FROM t; CREATE STREAM s2 AS SELECT k, SUM(v) AS total FROM s1 GROUP BY k

SELECT t.k, n.name FROM t LEFT JOIN names n ON t.k = n.k

SELECT k, _partition AS p, _offset AS o, _timestamp AS at FROM t WHERE _offset > 41

SELECT a.k FROM a JOIN b ON a.k = b.k

CREATE STREAM t (v INT, at BIGINT) WITH ('connector' = 'memory', 'event.time.field' = 'at', 'event.time.format' = 'epoch_seconds'); CREATE STREAM out AS SELECT _window_start AS s, SUM(v) AS total FROM t WINDOW TUMBLING(10s)

CREATE STREAM out AS SELECT k, _window_start AS s, _window_end AS e, COUNT(*) AS n, SUM(v) AS total, _emission AS kind, _revision AS rev FROM src GROUP BY k WINDOW TUMBLING(10000ms) ALLOWED_LATENESS 2000ms EMIT FINAL

CREATE STREAM out AS SELECT k, _window_start AS s, _window_end AS e, COUNT(*) AS n, SUM(v) AS total, _emission AS kind, _revision AS rev FROM src GROUP BY k WINDOW SLIDING(10000ms, 2000ms) EMIT FINAL

CREATE STREAM out AS SELECT k, _window_start AS s, _window_end AS e, COUNT(*) AS n, SUM(v) AS total, _emission AS kind, _revision AS rev FROM src GROUP BY k WINDOW SLIDING(4000ms, 2000ms) EMIT CHANGES

CREATE STREAM out AS SELECT k, _window_start AS s, _window_end AS e, COUNT(*) AS n, SUM(v) AS total, _emission AS kind, _revision AS rev FROM src GROUP BY k WINDOW SESSION(5000ms) EMIT FINAL

CREATE STREAM out AS SELECT k, _window_start AS s, _window_end AS e, COUNT(*) AS n, SUM(v) AS total, _emission AS kind, _revision AS rev FROM src GROUP BY k WINDOW TUMBLING(1000ms) OFFSET 200ms EMIT CHANGES

CREATE STREAM out AS SELECT k, _window_start AS s, _window_end AS e, COUNT(*) AS n, SUM(v) AS total, _emission AS kind, _revision AS rev FROM src GROUP BY k WINDOW SLIDING(2000ms, 1000ms) EMIT CHANGES

CREATE STREAM out AS SELECT k, _window_start AS s, _window_end AS e, COUNT(*) AS n, SUM(v) AS total, _emission AS kind, _revision AS rev FROM src GROUP BY k WINDOW SLIDING(5000ms, 1000ms) EMIT FINAL

CREATE STREAM out AS SELECT k, _window_start AS s, _window_end AS e, COUNT(*) AS n, SUM(v) AS total, _emission AS kind, _revision AS rev FROM src GROUP BY k WINDOW SLIDING(10000ms, 2000ms) ALLOWED_LATENESS 10000ms EMIT FINAL

CREATE STREAM out AS SELECT k, _window_start AS s, _window_end AS e, COUNT(*) AS n, SUM(v) AS total, _emission AS kind, _revision AS rev FROM src GROUP BY k WINDOW TUMBLING(1000ms) ALLOWED_LATENESS 10000ms EMIT FINAL

CREATE STREAM out AS SELECT k, _window_start AS s, _window_end AS e, COUNT(*) AS n, SUM(v) AS total, _emission AS kind, _revision AS rev FROM src GROUP BY k WINDOW TUMBLING(10000ms) OFFSET 200ms ALLOWED_LATENESS 10000ms EMIT FINAL

CREATE STREAM out AS SELECT k, _window_start AS s, _window_end AS e, COUNT(*) AS n, SUM(v) AS total, _emission AS kind, _revision AS rev FROM src GROUP BY k WINDOW SESSION(3000ms) EMIT CHANGES

CREATE STREAM out AS SELECT k, _window_start AS s, _window_end AS e, COUNT(*) AS n, SUM(v) AS total, _emission AS kind, _revision AS rev FROM src GROUP BY k WINDOW TUMBLING(10000ms) OFFSET 1500ms ALLOWED_LATENESS 2000ms EMIT FINAL

SELECT -(-5) , - -5, a - -5, NOT NOT a, (a = b) = c, a = (b = c), NOT (a AND b), (NOT a) = b, (a IS NULL) IS NULL, (a OR b) AND c, a - (b - c), -a::INT, x:a.b[0]['it''s'].`odd k`, (x:a).b FROM t

SELECT a.b.c, f(x).y, m['k'].z, arr[0], (s).f, CASE a WHEN 1 THEN 'x' ELSE b END, a BETWEEN 1 AND 2 AND c, a NOT IN (1, 2), a LIKE 'x%' ESCAPE '!', a IS NOT DISTINCT FROM b, a || b, a & b | c ^ d, a % 2 DIV 3, a <=> b FROM t

SELECT EXTRACT(HOUR FROM ts), TRIM(BOTH 'x' FROM s), TRIM(s), POSITION('a' IN s), SUBSTRING(s FROM 2 FOR 3), DATE '2026-01-01', CURRENT_TIMESTAMP, TUMBLE_START(), 5m, INTERVAL 1 HOUR 30 MINUTES, INTERVAL '1 02:03:04.5' DAY TO SECOND, INTERVAL 2 MONTHS, 1e3, 1.50, .5, ARRAY[1,2], STRUCT(1 AS a, b) FROM t

SELECT transform(arr, x -> x + 1), aggregate(a, 0, (acc, x) -> acc + x), exists(a, x -> x > 1), COUNT(DISTINCT a, b) FILTER (WHERE c > 1), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY v DESC NULLS LAST), LAG(v, 1) IGNORE NULLS OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k) AND k IN (SELECT k FROM u) AND v > (SELECT MAX(v) FROM u)

CREATE STREAM x AS (SELECT a FROM t LIMIT 3) UNION ALL SELECT b FROM u WITH ('connector' = 'kafka', 'n' = 5)

-- @name: foo
-- @Owner: me too
SELECT '$${x}' FROM t WINDOW SLIDING(ts, 10m, 1m) OFFSET -1h TRIGGER WHEN a OR b OR EVERY 5 RECORDS OR ON WATERMARK WITH WATERMARK PUNCTUATED(a > 5) LATE_DATA_STRATEGY DEAD_LETTER INTO dl ALLOWED_LATENESS 1.5h

SELECT a FROM l LEFT OUTER JOIN r WITHIN (1 HOUR, 5m) ON l.k = r.k FULL JOIN z USING (a, b) LATERAL VIEW OUTER explode(x) e AS c, d WHERE c > 1 ORDER BY a DESC, b NULLS FIRST

SELECT a FROM o JOIN r FOR SYSTEM_TIME AS OF o.ts AS rr ON o.k = rr.k

SELECT a FROM o ASOF JOIN r ON o.k = r.k AND o.ts >= r.ts ASOF LEFT JOIN s x ON o.k <=> x.k AND x.ts < o.ts LEFT OUTER ASOF JOIN y ON o.k IS NOT DISTINCT FROM y.k AND o.ts > y.ts

CREATE TABLE t (a INT PRIMARY KEY, b DECIMAL(10,2) NOT NULL, c STRUCT<x: INT, `y z` ARRAY<MAP<STRING,INT>>>) WITH (connector = 'file', path.x = 'a')

CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON AS 'm:f'

WITH a AS (SELECT 1), b AS (SELECT 2 UNION SELECT 3) SELECT * FROM a CROSS JOIN b QUALIFY x = 1 LIMIT 5 EMIT CHANGES PER BATCH WITH ('a' = 'b')

EXPLAIN SELECT 1; EXPLAIN (ANALYZE, VERBOSE, FORMAT JSON) SELECT 1; EXPLAIN (TOPOLOGY, FORMAT DOT) SELECT 1; SHOW JOBS; DESCRIBE t; DROP STREAM IF EXISTS x

CREATE STREAM trades (symbol STRING NOT NULL, price DOUBLE, volume BIGINT, ts TIMESTAMP(3), tags ARRAY<STRING>, attrs MAP<STRING, STRING>, payload VARIANT) WITH ('connector' = 'kafka', 'topic' = 'trades', 'event.time.field' = 'ts', 'watermark.delay' = 5s, 'strict' = TRUE)

CREATE TABLE names (k INT, a STRING, PRIMARY KEY (k, a)) WITH ('connector' = 'file')

CREATE TABLE latest AS SELECT symbol PRIMARY KEY, price AS p PRIMARY KEY FROM trades GROUP BY symbol, price

CREATE STREAM s WITH ('connector' = 'kafka') AS SELECT DISTINCT t.* FROM trades t

INSERT INTO alerts WITH big AS (SELECT * FROM trades WHERE volume > 100) SELECT symbol FROM big

SELECT COUNT(*), COUNT(t.*), COUNT(ALL x), FIRST(x IGNORE NULLS), LAST(x) RESPECT NULLS FROM t

SELECT AVG(p) OVER (ROWS WINDOW BUFFER 10 ROWS PARTITION BY a, b ORDER BY c DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING), SUM(x) OVER (ORDER BY y ROWS 3 PRECEDING), RANK() OVER () FROM t

SELECT a FROM t LIMIT 3 EMIT CHANGES HAVING a > 1 WINDOW ROWS(5) GROUP BY a WHERE b ORDER BY a QUALIFY c = 1 WITH ('x' = 'y')

SELECT `order`, "group", t.`end`, t.select, `back``tick`, "dou""ble", été FROM `odd name` AS `from`

SELECT CAST(a AS DECIMAL(10, 2)), TRY_CAST(a AS TIMESTAMP WITHOUT TIME ZONE), a::STRUCT<x INT>, TIMESTAMP '2026-01-01 00:00:00', TIMESTAMP_NTZ '2026-01-01' FROM t

SELECT LEFT(a, 1), RIGHT(a, 1), REPLACE(a, 'b', 'c'), IF(a, b, c), FILTER(xs, x -> x > 0), `f`(1) FROM t

SELECT a FROM b UNION SELECT c FROM d UNION ALL (SELECT e FROM f ORDER BY e LIMIT 1)

SELECT a FROM x, y JOIN z ON x.a = z.a AND z.t BETWEEN x.t - INTERVAL '1' MINUTE AND x.t + 5m

SELECT like(a, 'x%') AS l FROM b WHERE NOT rlike(a, 'y') AND a NOT LIKE ('q')

SELECT 1 -- no source
