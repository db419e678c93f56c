SELECT order_id, amount * (SELECT max_by(rate, since) FROM rates AS r WHERE r.currency = o.currency AND r.since <= o._ts) AS dollars FROM orders AS o
