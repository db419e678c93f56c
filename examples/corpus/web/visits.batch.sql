SELECT visitor, session_window.start AS began, count(*) AS clicks, array_join(transform(array_sort(collect_list(struct(_event_time, page))), c -> c.page), ' > ') AS path
FROM clicks GROUP BY visitor, session_window(_event_time, '30 minutes')
