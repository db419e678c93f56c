SELECT name AS channel, count(*) AS n, avg(value) AS mean FROM messages LATERAL VIEW inline(channels) c AS name, value GROUP BY name, window(at, '1 minute')
