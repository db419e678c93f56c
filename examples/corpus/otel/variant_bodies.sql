-- Structured bodies as variants: a path, and a cast that gives NULL where the value is something else.
SELECT PARSE_JSON(body):http.status::INT AS status, COUNT(*) AS n
FROM logs
GROUP BY PARSE_JSON(body):http.status::INT
WINDOW TUMBLING(1m);
