-- Nexmark q17: statistics of each auction and day, without a window: a group a day.
SELECT auction, DATE_FORMAT(_event_time, 'yyyy-MM-dd') AS day, COUNT(*) AS bids, MIN(price) AS lowest, MAX(price) AS highest, AVG(price) AS mean, SUM(price) AS total
FROM bid
GROUP BY auction, DATE_FORMAT(_event_time, 'yyyy-MM-dd')
EMIT FINAL;
