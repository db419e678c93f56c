-- A stream that says which metric it feeds: annotations are checked with the query, and shown by EXPLAIN.
-- @app: checkout
-- @owner: payments
-- @metric: request_millis
-- @metric_type: histogram
-- @metric_field: millis
-- @metric_buckets: 100, 250, 1000
-- @metric_labels: route
CREATE STREAM requests AS
SELECT route, millis FROM access WHERE status < 500;
