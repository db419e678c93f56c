-- Nexmark q5: the auctions with most bids in ten seconds, every two seconds.
SELECT auction, COUNT(*) AS bids, _window_start AS since, RANK() OVER (PARTITION BY _window_end ORDER BY COUNT(*) DESC) AS place
FROM bid
GROUP BY auction
WINDOW SLIDING(10s, 2s)
QUALIFY place = 1;
