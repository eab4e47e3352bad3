-- The IDevID of the device, which the operator who decides wants to see. Earlier requests have none.
ALTER TABLE requests ADD COLUMN idevid_certificate BYTEA;

-- Serial numbers are in the order of their bytes, as in SQLite, whatever the language of the server is: those with the same
-- beginning are together then.
ALTER TABLE requests ALTER COLUMN serial_number TYPE TEXT COLLATE "C";
ALTER TABLE joinings ALTER COLUMN serial_number TYPE TEXT COLLATE "C";
ALTER TABLE decisions ALTER COLUMN serial_number TYPE TEXT COLLATE "C";
ALTER TABLE history ALTER COLUMN serial_number TYPE TEXT COLLATE "C";
ALTER TABLE fetched ALTER COLUMN serial_number TYPE TEXT COLLATE "C";

-- What the status pages look for.
CREATE INDEX joinings_by_serial_number ON joinings (serial_number, idevid, manufacturer);
CREATE INDEX requests_by_serial_number ON requests (serial_number, idevid, manufacturer);
CREATE INDEX decisions_by_serial_number ON decisions (serial_number, idevid, manufacturer);
CREATE INDEX decisions_by_answer ON decisions (is_allowed);
CREATE INDEX telemetry_failures ON telemetry (received, idevid, number) WHERE status = 0;
