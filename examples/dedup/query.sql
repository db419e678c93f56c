-- Each order once, however often its producer sent it: the first of equal rows passes.
CREATE STREAM orders (order_id BIGINT NOT NULL, customer STRING, amount DECIMAL(10, 2)) WITH (
  'connector' = 'files', 'path' = 'examples/dedup/input', 'format' = 'json'
);

CREATE STREAM orders_once AS
SELECT DISTINCT order_id, customer, amount
FROM orders
WITH ('connector' = 'console');
