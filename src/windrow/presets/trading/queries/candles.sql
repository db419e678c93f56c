-- Open, high, low, close and volume of each minute; a late trade corrects its candle for half a minute.
-- @metric: traded_volume_total
-- @metric_help: shares traded
-- @metric_field: volume
-- @metric_labels: symbol
-- @metric_condition: _emission = 'final'
-- @metric: last_price
-- @metric_type: gauge
-- @metric_help: price at the end of the newest minute
-- @metric_field: close
-- @metric_labels: symbol
-- @alert: NothingTraded
-- @alert_condition: INCREASE(traded_volume_total, '10m') <= 0
-- @alert_for: 5m
-- @alert_text: nothing was traded for ten minutes
CREATE STREAM candles AS
SELECT symbol, _window_start AS minute, EARLIEST(price) AS open, MAX(price) AS high, MIN(price) AS low, LATEST(price) AS close,
       SUM(volume) AS volume, SUM(price * volume) / SUM(volume) AS vwap, _emission, _revision
FROM trades
GROUP BY symbol
WINDOW TUMBLING(1m) ALLOWED_LATENESS 30s
WITH ('connector' = 'console');
