-- What the status pages look for.
CREATE INDEX devices_blocked ON devices (serial_number, idevid_issuer) WHERE is_blocked = 1;
