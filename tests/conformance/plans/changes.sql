-- Groups without a window, a chain of statements, and two jobs in one file.
CREATE STREAM orders (id BIGINT, customer STRING, amount DECIMAL(10,2)) WITH ('connector' = 'files', 'path' = 'orders', 'format' = 'json');
CREATE STREAM pings (host STRING) WITH ('connector' = 'generator');

CREATE STREAM large AS SELECT id, upper(customer) AS customer, amount FROM orders WHERE amount >= 100 AND customer IS NOT NULL;

CREATE STREAM totals AS
SELECT customer, SUM(amount) AS spent, AVG(amount) AS mean, _revision AS rev FROM large GROUP BY customer HAVING SUM(amount) > 1000
EMIT CHANGES PER BATCH
WITH ('connector' = 'console', 'rows' = '50');

SELECT host, COUNT(*) AS n FROM pings GROUP BY host;
