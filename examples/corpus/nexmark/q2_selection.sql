-- Nexmark q2: bids on auctions whose number is a multiple of 123.
SELECT auction, price
FROM bid
WHERE auction % 123 = 0;
