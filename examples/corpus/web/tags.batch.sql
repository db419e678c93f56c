SELECT tag, count(*) AS n FROM reads LATERAL VIEW explode(tags) t AS tag GROUP BY tag, window(_event_time, '1 hour')
