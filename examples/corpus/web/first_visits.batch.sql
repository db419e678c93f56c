SELECT visitor, min_by(page, _event_time) AS page, min(_event_time) AS first_seen FROM clicks GROUP BY visitor
