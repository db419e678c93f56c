-- Nexmark q8: who registered and opened an auction within the same ten seconds: a join inside windows.
SELECT p.id, p.name, _window_start AS since
FROM person AS p
JOIN auction AS a ON a.seller = p.id
GROUP BY p.id, p.name
WINDOW TUMBLING(10s);
