-- Where events come from, in the names of OpenTelemetry's conventions for generative AI (gen_ai.*). Included before every query.
-- The options here are those of production; windrow.yaml replaces them for development.
CREATE STREAM gen_ai_events (
  ts TIMESTAMP NOT NULL,
  "gen_ai.response.id" STRING,
  "gen_ai.conversation.id" STRING,
  "gen_ai.request.model" STRING,
  "gen_ai.usage.input_tokens" BIGINT,
  "gen_ai.usage.output_tokens" BIGINT,
  "gen_ai.client.operation.duration" DOUBLE,
  "gen_ai.server.time_to_first_token" DOUBLE,
  "gen_ai.evaluation.score.value" DOUBLE,
  "gen_ai.prompt.version" STRING,
  "error.type" STRING,
  "tenant.id" STRING
) WITH (
  'connector' = 'kafka', 'topic' = 'gen_ai_events', 'bootstrap.servers' = '${BROKERS:-localhost:9092}', 'format' = 'json',
  'event.time.field' = 'ts', 'watermark.delay' = '2m', 'watermark.idle_timeout' = '5m'
);

CREATE STREAM feedback (
  ts TIMESTAMP NOT NULL, session_id STRING, request_id STRING, rating INT, liked BOOLEAN, task_completed BOOLEAN, regenerated BOOLEAN
) WITH (
  'connector' = 'kafka', 'topic' = 'feedback', 'bootstrap.servers' = '${BROKERS:-localhost:9092}', 'format' = 'json',
  'event.time.field' = 'ts', 'watermark.delay' = '10m', 'watermark.idle_timeout' = '30m'
);

-- Dollars for a million tokens: edit data/prices.jsonl.
CREATE TABLE prices (model STRING, input DOUBLE, output DOUBLE, PRIMARY KEY (model)) WITH (
  'connector' = 'files', 'path' = 'data', 'format' = 'json'
);

-- The one mapping: from the names of events to the words of the queries. Change it here if your events say it otherwise.
CREATE STREAM requests AS
SELECT "gen_ai.response.id" AS request_id,
       "gen_ai.conversation.id" AS session_id,
       "gen_ai.request.model" AS model,
       coalesce("tenant.id", 'unknown') AS tenant,
       "gen_ai.prompt.version" AS prompt,
       "gen_ai.client.operation.duration" * 1000 AS latency_ms,
       "gen_ai.server.time_to_first_token" * 1000 AS first_token_ms,
       coalesce("gen_ai.usage.input_tokens", 0) AS input_tokens,
       coalesce("gen_ai.usage.output_tokens", 0) AS output_tokens,
       "gen_ai.evaluation.score.value" AS score,
       "error.type" AS error,
       (coalesce("gen_ai.usage.input_tokens", 0) * p.input + coalesce("gen_ai.usage.output_tokens", 0) * p.output) / 1000000 AS cost,
       ts
FROM gen_ai_events LEFT JOIN prices p ON "gen_ai.request.model" = p.model;
