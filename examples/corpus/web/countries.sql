-- Views by country; addresses that are in no table count as unknown.
SELECT COALESCE(g.country, 'unknown') AS country, COUNT(*) AS views
FROM hits AS h
LEFT JOIN networks AS g ON g.network = SUBSTRING_INDEX(h.address, '.', 2)
GROUP BY COALESCE(g.country, 'unknown')
WINDOW TUMBLING(1h);
