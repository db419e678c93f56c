SELECT symbol, window(_event_time, '1 minute').start AS minute, max(price) - min(price) AS spread FROM trades GROUP BY symbol, window(_event_time, '1 minute') HAVING max(price) - min(price) > 2
