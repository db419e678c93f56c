CREATE STREAM orders (id BIGINT, customer BIGINT, placed TIMESTAMP) WITH (
  'connector' = 'files', 'path' = 'in/orders', 'event.time.field' = 'placed', 'watermark.delay' = '5s'
);
CREATE STREAM shipments (order_id BIGINT, parcels INT, sent TIMESTAMP) WITH (
  'connector' = 'files', 'path' = 'in/shipments', 'event.time.field' = 'sent', 'watermark.delay' = '5s'
);
CREATE TABLE customers (id BIGINT, name STRING, PRIMARY KEY (id)) WITH ('connector' = 'files', 'path' = 'in/customers.csv');

CREATE STREAM shipped AS
  SELECT c.name, o.id, s.parcels
  FROM orders o
  LEFT JOIN shipments s ON o.id = s.order_id AND s.sent BETWEEN o.placed AND o.placed + INTERVAL '2' HOURS AND s.parcels > 0
  JOIN customers c ON c.id = o.customer
  WHERE o.id > 100;
CREATE STREAM per_customer AS
  SELECT c.name, COUNT(*) AS orders FROM orders o LEFT JOIN customers c ON c.id = o.customer GROUP BY c.name WINDOW TUMBLING(1h)
  WITH ('join.on_missing' = 'default');
