SELECT symbol, price, price - lag(price) OVER (PARTITION BY symbol ORDER BY _event_time) AS move FROM trades
