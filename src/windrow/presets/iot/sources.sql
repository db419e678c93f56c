-- Where rows come from. Included before every query; windrow.yaml replaces the options for development.
CREATE STREAM readings (device STRING, site STRING, celsius DOUBLE, kwh DOUBLE, ts TIMESTAMP NOT NULL) WITH (
  'connector' = 'kafka', 'topic' = 'readings', 'bootstrap.servers' = '${BROKERS:-localhost:9092}', 'format' = 'json',
  'event.time.field' = 'ts', 'watermark.delay' = '30s', 'watermark.idle_timeout' = '5m'
);
