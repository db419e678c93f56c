SELECT bidder, count(*) AS bids, session_window.start AS since, session_window.end AS until FROM bid GROUP BY bidder, session_window(_event_time, '10 seconds')
