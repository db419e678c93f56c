-- Volume-weighted average price of each symbol and minute; an alias is used as soon as it is there.
SELECT symbol, _window_end AS until, SUM(price * volume) AS turnover, SUM(volume) AS shares, ROUND(turnover / shares, 4) AS vwap
FROM trades
GROUP BY symbol
WINDOW TUMBLING(1m);
