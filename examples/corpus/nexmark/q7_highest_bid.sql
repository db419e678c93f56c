-- Nexmark q7: the highest bid of each ten seconds.
SELECT MAX(price) AS price, MAX_BY(auction, price) AS auction, MAX_BY(bidder, price) AS bidder, _window_end AS until
FROM bid
WINDOW TUMBLING(10s);
