-- Carts without a payment in the half hour after.
SELECT c.visitor, c._event_time AS filled_at
FROM carts AS c
LEFT JOIN payments AS p ON p.visitor = c.visitor AND p._event_time BETWEEN c._event_time AND c._event_time + INTERVAL 30 MINUTES
WHERE p.visitor IS NULL;
