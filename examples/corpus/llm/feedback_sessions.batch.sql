SELECT session_id, count(*) AS events, round(avg(rating), 3) AS rating, count_if(task_completed) / count(*) AS completion_rate, count_if(regenerated) AS regenerations,
  count_if(rating >= 4) / count(rating) AS satisfaction
FROM feedback GROUP BY session_id, session_window(_event_time, '30 minutes')
