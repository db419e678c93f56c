SELECT * FROM (SELECT auction, count(*) AS bids, w.start AS since, rank() OVER (PARTITION BY w ORDER BY count(*) DESC) AS place
  FROM (SELECT auction, window(_event_time, '10 seconds', '2 seconds') AS w FROM bid) GROUP BY auction, w) WHERE place = 1
