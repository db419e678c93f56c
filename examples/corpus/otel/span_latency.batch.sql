SELECT name, window(timestamp_micros(start_time_unix_nano DIV 1000), '1 minute').start AS minute, count(*) AS spans, count_if(status = 2) AS errors, percentile(duration_time_unix_nano / 1e6, 0.5) AS p50_ms, percentile(duration_time_unix_nano / 1e6, 0.95) AS p95_ms
FROM spans GROUP BY name, window(timestamp_micros(start_time_unix_nano DIV 1000), '1 minute')
