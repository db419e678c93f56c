-- Nexmark q0: every bid as it is, the cost of reading and writing.
SELECT auction, bidder, price, _event_time AS at
FROM bid;
