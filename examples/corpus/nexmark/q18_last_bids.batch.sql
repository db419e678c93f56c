SELECT bidder, auction, max_by(price, _event_time) AS price FROM bid GROUP BY bidder, auction
