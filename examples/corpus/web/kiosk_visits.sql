-- Visits at a kiosk that nobody leaves: a new one starts after twenty minutes at the latest.
SELECT visitor, _window_start AS began, _window_end AS ended, COUNT(*) AS clicks
FROM clicks
GROUP BY visitor
WINDOW SESSION(10m, MAX 20m);
