SELECT route, millis FROM access WHERE status < 500
