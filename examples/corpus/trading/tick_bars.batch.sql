SELECT symbol, count(*) AS ticks, min_by(price, _event_time) AS open, max_by(price, _event_time) AS close, sum(volume) AS volume
FROM (SELECT *, (row_number() OVER (PARTITION BY symbol ORDER BY _event_time) - 1) DIV 3 AS bar FROM trades) GROUP BY symbol, bar
