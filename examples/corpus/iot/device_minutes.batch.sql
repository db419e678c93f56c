SELECT device, window(_event_time, '1 minute').start AS minute, count(*) AS n, min(celsius) AS low, max(celsius) AS high, round(avg(celsius), 3) AS mean,
  CASE WHEN count(*) > 1 THEN round(stddev(celsius), 3) END AS deviation
FROM readings GROUP BY device, window(_event_time, '1 minute')
