SELECT symbol, sum(change) AS balance, count(*) AS orders
FROM (SELECT symbol, qty AS change, _event_time FROM buys UNION ALL SELECT symbol, -qty, _event_time FROM sells) GROUP BY symbol, window(_event_time, '1 minute')
