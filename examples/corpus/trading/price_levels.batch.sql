SELECT symbol, percentile_cont(0.5) WITHIN GROUP (ORDER BY price) AS median, percentile_disc(0.9) WITHIN GROUP (ORDER BY price) AS p90,
  mode(volume, true) AS usual_volume
FROM trades AS t GROUP BY symbol
