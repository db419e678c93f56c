-- Nexmark q9: the winning bid of every auction: the highest before it expires.
SELECT a.id, a.item, MAX(b.price) AS price, MAX_BY(b.bidder, b.price) AS bidder
FROM auction AS a
JOIN bid AS b WITHIN (0s, 1h) ON b.auction = a.id AND b._event_time <= timestamp_millis(a.expires)
GROUP BY a.id, a.item
EMIT FINAL;
