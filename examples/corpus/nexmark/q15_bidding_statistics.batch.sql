SELECT date_format(_event_time, 'yyyy-MM-dd') AS day, count(*) AS bids, count_if(price < 200) AS low_bids, count_if(price >= 200 AND price < 900) AS middle_bids, count_if(price >= 900) AS high_bids,
  count(DISTINCT bidder) AS bidders, count(DISTINCT CASE WHEN price < 200 THEN bidder END) AS low_bidders, count(DISTINCT auction) AS auctions
FROM bid GROUP BY 1
