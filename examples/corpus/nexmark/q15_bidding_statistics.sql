-- Nexmark q15: bids, bidders and auctions of each day, in three classes of price.
SELECT DATE_FORMAT(_window_start, 'yyyy-MM-dd') AS day, COUNT(*) AS bids,
       COUNT(*) FILTER (WHERE price < 200) AS low_bids, COUNT(*) FILTER (WHERE price >= 200 AND price < 900) AS middle_bids, COUNT(*) FILTER (WHERE price >= 900) AS high_bids,
       COUNT(DISTINCT bidder) AS bidders, COUNT(DISTINCT bidder) FILTER (WHERE price < 200) AS low_bidders, COUNT(DISTINCT auction) AS auctions
FROM bid
WINDOW TUMBLING(1d);
