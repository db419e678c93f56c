-- Nexmark q3: who sells things of category 10 in three states. Streams need a bound of time, here an hour.
SELECT p.name, p.city, p.state, a.id
FROM auction AS a
JOIN person AS p WITHIN 1h ON p.id = a.seller
WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA');
