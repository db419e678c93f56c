-- Where rows come from. Included before every query; windrow.yaml replaces the options for development.
CREATE STREAM trades (symbol STRING, price DOUBLE, volume BIGINT, ts TIMESTAMP NOT NULL) WITH (
  'connector' = 'kafka', 'topic' = 'trades', 'bootstrap.servers' = '${BROKERS:-localhost:9092}', 'format' = 'json',
  'event.time.field' = 'ts', 'watermark.delay' = '5s', 'watermark.idle_timeout' = '1m'
);
