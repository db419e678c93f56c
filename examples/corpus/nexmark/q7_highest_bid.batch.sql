SELECT b.price, b.auction, b.bidder, w.end AS until FROM (SELECT *, window(_event_time, '10 seconds') AS w FROM bid) AS b
JOIN (SELECT window(_event_time, '10 seconds') AS v, max(price) AS most FROM bid GROUP BY 1) AS m ON m.v = b.w AND m.most = b.price
