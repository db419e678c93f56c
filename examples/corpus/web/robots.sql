-- Visitors with four or more requests in five seconds, whichever five: sliding by one second.
SELECT DISTINCT visitor
FROM (SELECT visitor, COUNT(*) AS requests FROM requests GROUP BY visitor WINDOW SLIDING(5s, 1s) HAVING COUNT(*) >= 4) AS bursts;
