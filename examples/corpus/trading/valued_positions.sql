-- A table that a query makes holds the latest price of each symbol; positions are valued by it as they come.
CREATE TABLE last_price AS SELECT symbol PRIMARY KEY, price FROM trades;

SELECT p.account, p.symbol, p.shares * l.price AS value
FROM positions AS p
JOIN last_price AS l ON l.symbol = p.symbol;
