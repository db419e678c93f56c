CREATE STREAM trades (symbol STRING, price DOUBLE, ts TIMESTAMP) WITH ('connector' = 'files', 'path' = 'in/trades', 'event.time.field' = 'ts');
CREATE STREAM quotes (symbol STRING, bid DOUBLE, ts TIMESTAMP) WITH ('connector' = 'files', 'path' = 'in/quotes', 'event.time.field' = 'ts');

CREATE TABLE best AS SELECT symbol, MAX(bid) AS bid FROM quotes GROUP BY symbol WITH ('state.ttl' = '1d');

-- @app: surveillance
-- @metric: alarms_total
-- @metric_help: trades above the best bid
-- @metric_labels: symbol
-- @metric: alarm_size
-- @metric_type: histogram
-- @metric_field: over
-- @metric_buckets: 0.1, 1, 10
-- @metric_condition: over > 0
CREATE STREAM alarms (symbol STRING NOT NULL, at TIMESTAMP, over DOUBLE) WITH ('connector' = 'console', 'event.time.field' = 'at');
INSERT INTO alarms SELECT t.symbol, t.ts, t.price - b.bid FROM trades t JOIN best b ON t.symbol = b.symbol WHERE t.price > b.bid;
INSERT INTO alarms (symbol, at) SELECT symbol, ts FROM trades WHERE price IS NULL;
