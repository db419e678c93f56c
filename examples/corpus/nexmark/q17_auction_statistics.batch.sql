SELECT auction, date_format(_event_time, 'yyyy-MM-dd') AS day, count(*) AS bids, min(price) AS lowest, max(price) AS highest, avg(price) AS mean, sum(price) AS total FROM bid GROUP BY 1, 2
