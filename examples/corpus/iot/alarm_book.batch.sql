SELECT 'hot' AS what, device, celsius AS size FROM readings WHERE celsius > 90
UNION ALL
SELECT 'swing', device, max(celsius) - min(celsius) FROM readings GROUP BY device, window(_event_time, '1 minute') HAVING max(celsius) - min(celsius) > 20
