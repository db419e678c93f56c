-- Readings corrected by the offset of their device; a device without one is taken as it is.
SELECT r.device, r.celsius + COALESCE(c.offset_by, 0) AS celsius
FROM readings AS r
LEFT JOIN calibration AS c ON c.device = r.device;
