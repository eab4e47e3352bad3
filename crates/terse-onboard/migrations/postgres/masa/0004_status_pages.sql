-- Serial numbers are in the order of their bytes, as in SQLite, whatever the language of the server is: those with the same
-- beginning are together then.
ALTER TABLE devices ALTER COLUMN serial_number TYPE TEXT COLLATE "C";
ALTER TABLE audit_log ALTER COLUMN serial_number TYPE TEXT COLLATE "C";
ALTER TABLE issued_vouchers ALTER COLUMN serial_number TYPE TEXT COLLATE "C";

-- What the status pages look for.
CREATE INDEX devices_blocked ON devices (serial_number, idevid_issuer) WHERE is_blocked = 1;
