SELECT symbol, window(_event_time, '1 minute').end AS until, sum(price * volume) AS turnover, sum(volume) AS shares, round(sum(price * volume) / sum(volume), 4) AS vwap
FROM trades GROUP BY symbol, window(_event_time, '1 minute')
