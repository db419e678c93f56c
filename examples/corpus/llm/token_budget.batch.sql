SELECT u.request_id, u.model, u.used FROM (SELECT request_id, model, sum(input_tokens + output_tokens) OVER (PARTITION BY model ORDER BY _event_time ROWS UNBOUNDED PRECEDING) AS used FROM performance) AS u
JOIN budgets AS b ON b.model = u.model WHERE u.used > b.tokens
