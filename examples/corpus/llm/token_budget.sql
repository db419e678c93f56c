-- The request with which a model has used up its budget of tokens, and those after it.
SELECT request_id, model, SUM(input_tokens + output_tokens) OVER (PARTITION BY model ORDER BY _event_time ROWS UNBOUNDED PRECEDING) AS used
FROM performance
QUALIFY used > (SELECT MAX(tokens) FROM budgets AS b WHERE b.model = performance.model);
