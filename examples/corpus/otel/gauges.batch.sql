SELECT metric, host, window(_event_time, '1 minute').start AS minute, max_by(value, _event_time) AS value, count(*) AS points FROM points GROUP BY metric, host, window(_event_time, '1 minute')
