SELECT window(_event_time, '1 hour').start AS hour, count(DISTINCT visitor) AS visitors FROM clicks GROUP BY window(_event_time, '1 hour')
