-- Visits: clicks of one visitor at most half an hour apart, with the way through the site.
SELECT visitor, SESSION_START() AS began, COUNT(*) AS clicks, STRING_AGG(page, ' > ' ORDER BY _event_time) AS path
FROM clicks
GROUP BY visitor
WINDOW SESSION(30m);
