-- Nexmark q1: every bid in euros.
SELECT auction, bidder, 0.908 * price AS price
FROM bid;
