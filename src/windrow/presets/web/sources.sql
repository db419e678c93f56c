-- Where rows come from. Included before every query; windrow.yaml replaces the options for development.
CREATE STREAM views (visitor STRING, page STRING, referrer STRING, ms INT, status INT, ts TIMESTAMP NOT NULL) WITH (
  'connector' = 'kafka', 'topic' = 'views', 'bootstrap.servers' = '${BROKERS:-localhost:9092}', 'format' = 'json',
  'event.time.field' = 'ts', 'watermark.delay' = '10s', 'watermark.idle_timeout' = '1m'
);
