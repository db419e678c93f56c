-- Nexmark q19: the two highest bids of each auction, when the input has ended.
SELECT auction, ARRAY_AGG(price ORDER BY price DESC) AS prices, SLICE(prices, 1, 2) AS highest
FROM bid
GROUP BY auction
EMIT FINAL;
