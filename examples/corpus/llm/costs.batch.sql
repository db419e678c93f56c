SELECT model, window(_event_time, '5 minutes').start AS since, round(sum(cost), 6) AS dollars, sum(input_tokens) AS tokens_in, sum(output_tokens) AS tokens_out, round(1000 * sum(cost) / sum(output_tokens), 5) AS per_thousand
FROM performance GROUP BY model, window(_event_time, '5 minutes')
