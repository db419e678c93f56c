SELECT meter, w.start AS since, max_by(total, _event_time) - min_by(total, _event_time) AS used FROM (SELECT *, window(_event_time, '15 minutes') AS w FROM counters) GROUP BY meter, w
