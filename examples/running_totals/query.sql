-- Balance after each booking, what changed since the one before, and a moving average over the last three.
CREATE STREAM bookings (account STRING, amount BIGINT, ts BIGINT) WITH (
  'connector' = 'files', 'path' = 'examples/running_totals/input', 'format' = 'json',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis'
);

CREATE STREAM balances AS
SELECT account, amount,
       SUM(amount) OVER (PARTITION BY account ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS balance,
       LAG(amount) OVER (ROWS WINDOW BUFFER 2 ROWS PARTITION BY account ORDER BY ts) AS before,
       AVG(amount) OVER (ROWS WINDOW BUFFER 3 ROWS PARTITION BY account ORDER BY ts) AS average_of_three
FROM bookings
WITH ('connector' = 'console');
