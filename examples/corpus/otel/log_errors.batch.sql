SELECT resource.service_name AS service, window(timestamp_micros(time_unix_nano DIV 1000), '1 minute').start AS minute, count(*) AS records, count_if(severity_number >= 17) AS errors, count_if(severity_number >= 17) / count(*) AS error_share
FROM logs GROUP BY resource.service_name, window(timestamp_micros(time_unix_nano DIV 1000), '1 minute')
