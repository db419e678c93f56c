-- The watermark moves only with rows that say a shift has ended: a punctuated watermark.
SELECT machine, SUM(pieces) AS pieces, _window_start AS since
FROM output
GROUP BY machine
WINDOW TUMBLING(1m) WITH WATERMARK PUNCTUATED(kind = 'end');
