-- The IDevID of the device, which the operator who decides wants to see. Earlier requests have none.
ALTER TABLE requests ADD COLUMN idevid_certificate BLOB;

-- What the status pages look for.
CREATE INDEX joinings_by_serial_number ON joinings (serial_number, idevid, manufacturer);
CREATE INDEX requests_by_serial_number ON requests (serial_number, idevid, manufacturer);
CREATE INDEX decisions_by_serial_number ON decisions (serial_number, idevid, manufacturer);
CREATE INDEX decisions_by_answer ON decisions (is_allowed);
CREATE INDEX telemetry_failures ON telemetry (received, idevid, number) WHERE status = 0;
