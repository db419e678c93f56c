-- The components that are not healthy now: a component that recovers is taken back.
SELECT component, LAST(status) AS status, _emission
FROM health
GROUP BY component
HAVING LAST(status) <> 'healthy';
