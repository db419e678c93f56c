SELECT p.visitor, p.amount, a.campaign FROM purchases AS p JOIN adclicks AS a ON a.visitor = p.visitor AND a._event_time BETWEEN p._event_time - INTERVAL 10 MINUTES AND p._event_time
