SELECT id, item, price, bidder FROM (SELECT a.id, a.item, b.price, b.bidder, row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b._ts) AS place
  FROM auction AS a JOIN bid AS b ON b.auction = a.id AND b._ts BETWEEN a._ts AND a.expires) WHERE place = 1
