SELECT try_cast(get_json_object(body, '$.http.status') AS INT) AS status, count(*) AS n FROM logs GROUP BY 1, window(_event_time, '1 minute')
