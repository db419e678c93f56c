-- Latency percentiles and error rate of each model, every five minutes; models with one call are left out.
CREATE STREAM calls (model STRING, latency_ms DOUBLE, error STRING, ts BIGINT) WITH (
  'connector' = 'files', 'path' = 'examples/llm_latency/input', 'format' = 'json',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '10s'
);

CREATE STREAM llm_latency AS
SELECT model, _window_start AS since, COUNT(*) AS calls,
       PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY latency_ms) AS p50,
       PERCENTILE_CONT(0.95) WITHIN GROUP (ORDER BY latency_ms) AS p95,
       PERCENTILE_CONT(0.99) WITHIN GROUP (ORDER BY latency_ms) AS p99,
       COUNT(error) / COUNT(*) AS error_rate
FROM calls
GROUP BY model
WINDOW TUMBLING(5m)
HAVING COUNT(*) > 1
WITH ('connector' = 'console');
