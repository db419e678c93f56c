-- Requests of each tenant; who it is stands in a header of the message.
SELECT HEADER('tenant') AS tenant, COUNT(*) AS requests
FROM calls
WHERE HAS_HEADER('tenant')
GROUP BY HEADER('tenant')
WINDOW TUMBLING(1m);
