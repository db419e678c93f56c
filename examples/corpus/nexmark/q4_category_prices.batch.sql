SELECT category, avg(price) AS price
FROM (SELECT a.id, a.category, max(b.price) AS price FROM auction AS a JOIN bid AS b ON b.auction = a.id AND b._ts BETWEEN a._ts AND a.expires GROUP BY a.id, a.category) GROUP BY category
