SELECT coalesce(parse_url(url, 'QUERY', 'utm_campaign'), 'none') AS campaign, count(*) AS clicks FROM landings GROUP BY 1
