-- Nexmark q12: bids of each bidder in ten seconds of arrival, whatever their own time says.
SELECT bidder, COUNT(*) AS bids, _window_start AS since
FROM bid
GROUP BY bidder
WINDOW TUMBLING(10s) ON PROCESSING_TIME();
