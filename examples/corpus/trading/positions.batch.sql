SELECT symbol, sum(volume) OVER running AS position, count(*) OVER running AS trades FROM trades
WINDOW running AS (PARTITION BY symbol ORDER BY _event_time ROWS UNBOUNDED PRECEDING)
