SELECT symbol, w.start AS since, w.end AS until, sum(volume) AS volume
FROM (SELECT symbol, volume, window(_event_time, '2 minutes', '1 minute') AS w FROM trades) GROUP BY symbol, w
