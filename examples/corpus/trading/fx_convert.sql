-- Amounts in dollars by the exchange rate that was in force when the order was placed.
CREATE TABLE rates (currency STRING, rate DOUBLE, since BIGINT, PRIMARY KEY (currency)) WITH (
  'connector' = 'memory', 'event.time.field' = 'since', 'event.time.format' = 'epoch_millis'
);

SELECT o.order_id, o.amount * r.rate AS dollars
FROM orders AS o
LEFT JOIN rates FOR SYSTEM_TIME AS OF o._event_time AS r ON r.currency = o.currency;
