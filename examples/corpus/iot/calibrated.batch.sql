SELECT r.device, r.celsius + coalesce(c.offset_by, 0) AS celsius FROM readings AS r LEFT JOIN calibration AS c ON c.device = r.device
