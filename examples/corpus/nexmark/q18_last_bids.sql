-- Nexmark q18: the last bid of each bidder on an auction, as a table that other statements can join.
CREATE TABLE last_bids AS
SELECT bidder PRIMARY KEY, auction PRIMARY KEY, price
FROM bid;
