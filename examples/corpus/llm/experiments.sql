-- The mean of a metric for each variant of an experiment, weighted by sample size.
SELECT experiment_id, variant_id, SUM(sample_size) AS samples, ROUND(SUM(metric_value * sample_size) / SUM(sample_size), 4) AS mean
FROM results
WHERE metric_name = 'quality'
GROUP BY experiment_id, variant_id
EMIT FINAL;
