SELECT o.order_id, o.symbol, f.filled, timestampdiff(SECOND, o._event_time, f._event_time) AS after_seconds
FROM orders AS o JOIN fills AS f ON f.order_id = o.order_id AND f._event_time BETWEEN o._event_time AND o._event_time + INTERVAL '10' SECOND
