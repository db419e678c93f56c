SELECT o.order_id, o.symbol, o.qty FROM orders AS o
WHERE NOT EXISTS (SELECT 1 FROM fills AS f WHERE f.order_id = o.order_id AND f._event_time BETWEEN o._event_time - INTERVAL '10' SECOND AND o._event_time + INTERVAL '10' SECOND)
