SELECT DISTINCT visitor, page FROM clicks
