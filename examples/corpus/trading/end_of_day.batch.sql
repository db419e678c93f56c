SELECT symbol, count(*) AS trades, max_by(price, volume) AS price_of_largest, max_by(price, _event_time) AS last_price FROM trades GROUP BY symbol
