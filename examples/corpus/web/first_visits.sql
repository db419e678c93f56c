-- The first click of every visitor.
SELECT visitor, page, _event_time AS first_seen
FROM clicks
QUALIFY ROW_NUMBER() OVER (PARTITION BY visitor ORDER BY _event_time) = 1;
