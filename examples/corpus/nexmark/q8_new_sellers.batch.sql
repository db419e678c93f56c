SELECT DISTINCT p.id, p.name, timestamp_millis(p._ts DIV 10000 * 10000) AS since FROM person AS p JOIN auction AS a ON a.seller = p.id AND a._ts DIV 10000 = p._ts DIV 10000
