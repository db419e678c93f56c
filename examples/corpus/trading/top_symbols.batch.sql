WITH sums AS (SELECT symbol, window(_event_time, '1 minute').start AS minute, sum(price * volume) AS turnover FROM trades GROUP BY symbol, window(_event_time, '1 minute'))
SELECT * FROM (SELECT *, round(turnover / sum(turnover) OVER (PARTITION BY minute), 4) AS share, row_number() OVER (PARTITION BY minute ORDER BY turnover DESC) AS place
FROM sums) WHERE place <= 2
