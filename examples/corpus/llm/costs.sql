-- What each model cost in five minutes, and what a thousand tokens of answer cost.
SELECT model, _window_start AS since, ROUND(SUM(cost), 6) AS dollars, SUM(input_tokens) AS tokens_in, SUM(output_tokens) AS tokens_out,
       ROUND(1000 * SUM(cost) / SUM(output_tokens), 5) AS per_thousand
FROM performance
GROUP BY model
WINDOW TUMBLING(5m);
