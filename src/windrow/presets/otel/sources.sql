-- Spans as a collector exports them, a JSON object each. Included before every query; windrow.yaml replaces the options for development.
CREATE STREAM spans (
  trace_id STRING, span_id STRING, service STRING, name STRING, status STRING, duration_ms DOUBLE, requests_total BIGINT, ts TIMESTAMP NOT NULL
) WITH (
  'connector' = 'kafka', 'topic' = 'spans', 'bootstrap.servers' = '${BROKERS:-localhost:9092}', 'format' = 'json',
  'event.time.field' = 'ts', 'watermark.delay' = '30s', 'watermark.idle_timeout' = '2m'
);
