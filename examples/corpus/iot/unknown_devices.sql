-- Devices that send and are in no inventory, each named once.
SELECT DISTINCT device
FROM readings
WHERE NOT EXISTS (SELECT 1 FROM inventory AS i WHERE i.device = readings.device);
