SELECT page, window(_event_time, '10 minutes').start AS since, count(*) AS views, count(DISTINCT visitor) AS visitors FROM clicks GROUP BY page, window(_event_time, '10 minutes')
