-- The two symbols with the largest turnover of each minute, and their share of it all.
SELECT symbol, _window_start AS minute, SUM(price * volume) AS turnover,
       ROUND(turnover / SUM(turnover) OVER (), 4) AS share,
       ROW_NUMBER() OVER (PARTITION BY _window_end ORDER BY SUM(price * volume) DESC) AS place
FROM trades
GROUP BY symbol
WINDOW TUMBLING(1m)
QUALIFY place <= 2
ORDER BY place;
