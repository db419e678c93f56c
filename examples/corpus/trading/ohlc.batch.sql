SELECT symbol, window(_event_time, '1 minute').start AS minute, min_by(price, _event_time) AS open, max(price) AS high, min(price) AS low, max_by(price, _event_time) AS close, sum(volume) AS volume
FROM trades GROUP BY symbol, window(_event_time, '1 minute')
