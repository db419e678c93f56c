-- Orders with the payment that came within a quarter of an hour, the name of the customer, and what each has paid so far:
-- a join of two streams, a join with a table, and OVER.
CREATE STREAM orders (order_id BIGINT, customer STRING, amount BIGINT, at TIMESTAMP) WITH (
  'connector' = 'files', 'path' = 'examples/order_desk/input/orders.json', 'format' = 'json', 'event.time.field' = 'at'
);

CREATE STREAM payments (order_id BIGINT, paid BIGINT, at TIMESTAMP) WITH (
  'connector' = 'files', 'path' = 'examples/order_desk/input/payments.json', 'format' = 'json', 'event.time.field' = 'at'
);

CREATE TABLE customers (customer STRING, name STRING, PRIMARY KEY (customer)) WITH (
  'connector' = 'files', 'path' = 'examples/order_desk/input/customers.json', 'format' = 'json'
);

CREATE STREAM paid_orders AS
SELECT o.order_id, o.customer, o.amount, p.paid, p.at AS paid_at
FROM orders AS o
LEFT JOIN payments AS p ON p.order_id = o.order_id AND p.at BETWEEN o.at AND o.at + INTERVAL '15' MINUTE;

CREATE STREAM open_orders AS
SELECT b.order_id, c.name, b.amount
FROM paid_orders AS b
LEFT JOIN customers AS c ON c.customer = b.customer
WHERE b.paid IS NULL
WITH ('connector' = 'console');

CREATE STREAM paid_so_far AS
SELECT order_id, customer, paid,
       SUM(paid) OVER (PARTITION BY customer ORDER BY paid_at ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS so_far
FROM paid_orders
WHERE paid IS NOT NULL
WITH ('connector' = 'console');
