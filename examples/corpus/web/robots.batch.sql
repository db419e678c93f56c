SELECT DISTINCT visitor FROM (SELECT visitor, w FROM (SELECT visitor, window(_event_time, '5 seconds', '1 second') AS w FROM requests) GROUP BY visitor, w HAVING count(*) >= 4)
