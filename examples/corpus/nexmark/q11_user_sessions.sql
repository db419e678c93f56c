-- Nexmark q11: bids of each bidder in sessions with a gap of ten seconds.
SELECT bidder, COUNT(*) AS bids, _window_start AS since, _window_end AS until
FROM bid
GROUP BY bidder
WINDOW SESSION(10s);
