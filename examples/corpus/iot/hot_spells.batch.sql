SELECT device, session_window.start AS began, count(*) AS readings, max(celsius) AS peak
FROM readings WHERE celsius > 80 GROUP BY device, session_window(_event_time, '1 minute')
