SELECT DISTINCT device FROM readings AS r WHERE NOT EXISTS (SELECT 1 FROM inventory AS i WHERE i.device = r.device)
