SELECT coalesce(g.country, 'unknown') AS country, count(*) AS views FROM hits AS h LEFT JOIN networks AS g ON g.network = substring_index(h.address, '.', 2) GROUP BY 1
