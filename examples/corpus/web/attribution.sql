-- Which advertisements were clicked in the ten minutes before a purchase.
SELECT p.visitor, p.amount, a.campaign
FROM purchases AS p
JOIN adclicks AS a WITHIN (10m, 0s) ON a.visitor = p.visitor;
