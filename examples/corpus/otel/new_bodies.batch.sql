SELECT DISTINCT resource.service_name AS service, body FROM logs WHERE severity_number >= 17
