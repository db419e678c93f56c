-- Bars of three trades each, whatever time they take; what is not full at the end of the input comes out then.
SELECT symbol, COUNT(*) AS ticks, FIRST(price) AS open, LAST(price) AS close, SUM(volume) AS volume
FROM trades
GROUP BY symbol
WINDOW ROWS(3);
