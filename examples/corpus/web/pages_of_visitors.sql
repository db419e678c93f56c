-- Each page that a visitor has seen, once.
SELECT DISTINCT visitor, page
FROM clicks;
