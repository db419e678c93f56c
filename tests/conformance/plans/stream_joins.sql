CREATE STREAM trades (symbol STRING, price DOUBLE, note STRING, ts TIMESTAMP) WITH ('connector' = 'files', 'path' = 'trades', 'event.time.field' = 'ts');
CREATE STREAM quotes (symbol STRING, bid DOUBLE, venue STRING, ts TIMESTAMP) WITH ('connector' = 'files', 'path' = 'quotes', 'event.time.field' = 'ts');

CREATE STREAM quoted AS
SELECT t.symbol, t.price, q.bid FROM trades t LEFT ASOF JOIN quotes q ON t.symbol = q.symbol AND t.ts >= q.ts AND q.venue = 'X';

CREATE STREAM met AS
SELECT t.symbol, q.bid, _window_start AS s FROM trades t FULL JOIN quotes q ON t.symbol IS NOT DISTINCT FROM q.symbol WINDOW SLIDING(1m, 30s);

CREATE STREAM sessions AS
SELECT t.symbol, COUNT(*) AS n FROM trades t JOIN quotes q ON t.symbol = q.symbol WHERE t.price > 1 GROUP BY t.symbol WINDOW SESSION(5m);

CREATE STREAM near AS
SELECT t.symbol, q.bid FROM trades t LEFT JOIN quotes q WITHIN 10s ON t.symbol = q.symbol WHERE q.bid > 0 AND t.price > 1;
