-- @owner: ada
-- @team: sales
-- @description: revenue of each country and minute, over made-up orders

-- Ten seconds of the shop pass in one second here. Some orders are late, some are broken.
CREATE STREAM orders (id BIGINT, country STRING, amount DOUBLE, ts BIGINT)
WITH ('connector' = 'generator', 'start.time' = '${DEMO_START}', 'rows.per.second' = '50', 'event.interval' = '200ms', 'disorder' = '5s', 'late.share' = '0.004',
      'late.by' = '3m', 'bad.share' = '0.003', 'seed' = '11', 'fields.id' = 'sequence(1, 1)',
      'fields.country' = 'choice(DE:4, FR:3, IT:2, PL)', 'fields.amount' = 'uniform(5, 250)', 'fields.ts' = 'event_time(millis)',
      'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '10s');

-- @metric: windows_told
-- @alert: NothingIsTold
-- @alert_condition: RATE(windows_told, '5m') < 0.01
-- @alert_for: 5m
-- @alert_text: hardly any window of the shop closed in five minutes
CREATE STREAM revenue AS
SELECT country, _window_start AS minute, COUNT(*) AS orders, ROUND(SUM(amount), 2) AS revenue
FROM orders
WHERE amount > 10
GROUP BY country
WINDOW TUMBLING(1m) ALLOWED_LATENESS 1m
WITH ('connector' = 'files', 'path' = '${DEMO_FOLDER}/revenue', 'format' = 'json');
