SELECT auction, bidder, price, _event_time AS at FROM bid
