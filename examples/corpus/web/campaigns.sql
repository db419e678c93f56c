-- Clicks by campaign, read out of the address.
SELECT COALESCE(PARSE_URL(url, 'QUERY', 'utm_campaign'), 'none') AS campaign, COUNT(*) AS clicks
FROM landings
GROUP BY campaign
WINDOW TUMBLING(1d);
