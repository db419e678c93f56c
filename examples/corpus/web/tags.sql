-- Which tags of articles are read most: an article counts for each of its tags.
SELECT tag, COUNT(*) AS n
FROM reads, UNNEST(tags) AS tag
GROUP BY tag
WINDOW TUMBLING(1h);
