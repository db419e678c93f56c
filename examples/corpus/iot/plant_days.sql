-- A day of the plant goes from six to six.
SELECT TUMBLE_START() AS day, COUNT(*) AS readings, MAX(celsius) AS peak
FROM readings
WINDOW TUMBLING(1d) OFFSET 6h;
