-- Windows over windows: the busiest ten minutes of each hour.
CREATE STREAM tens AS
SELECT COUNT(*) AS views, _window_start AS since FROM clicks WINDOW TUMBLING(10m);

SELECT _window_start AS hour, MAX(views) AS most, SUM(views) AS views
FROM tens
WINDOW TUMBLING(1h);
