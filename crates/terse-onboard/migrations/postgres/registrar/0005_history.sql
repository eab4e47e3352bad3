-- The nonces for which this domain has asked, and the domainIDs that vouchers have pinned, numbered for each device: with
-- these its audit log is compared, and so they stay longer than the requests.
CREATE TABLE history (
    request BYTEA NOT NULL PRIMARY KEY,
    idevid BYTEA NOT NULL,
    serial_number TEXT NOT NULL,
    manufacturer TEXT NOT NULL,
    number BIGINT NOT NULL,
    nonce BYTEA NOT NULL,
    domain_id BYTEA,
    UNIQUE (idevid, number)
);
CREATE INDEX history_by_serial_number ON history (serial_number, manufacturer);
INSERT INTO history (request, idevid, serial_number, manufacturer, number, nonce, domain_id)
    SELECT request, idevid, serial_number, manufacturer, ROW_NUMBER() OVER (PARTITION BY idevid ORDER BY received, request), nonce, domain_id
    FROM requests WHERE registrar_request IS NOT NULL;
ALTER TABLE requests DROP COLUMN domain_id;

-- A request whose device has a newer voucher is repeated for some days, and then removed.
UPDATE requests SET state = 'superseded' WHERE state = 'answered'
    AND NOT EXISTS (SELECT 1 FROM joinings WHERE joinings.request = requests.request);
