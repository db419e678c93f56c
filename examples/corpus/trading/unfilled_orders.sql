-- Orders that nobody filled within ten seconds: an outer join says so once, when no fill can come any more.
SELECT o.order_id, o.symbol, o.qty
FROM orders AS o
LEFT JOIN fills AS f WITHIN 10s ON f.order_id = o.order_id
WHERE f.order_id IS NULL;
