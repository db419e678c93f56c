-- Nexmark q20: bids with what is known of their auction, category 10.
SELECT b.auction, b.price, a.item, a.seller
FROM bid AS b
JOIN auction AS a WITHIN 1h ON a.id = b.auction
WHERE a.category = 10;
