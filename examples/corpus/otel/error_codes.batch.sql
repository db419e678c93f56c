SELECT attributes['code'] AS code, count(*) AS n, array_sort(collect_set(trace_id)) AS traces FROM logs WHERE attributes['code'] IS NOT NULL GROUP BY 1
