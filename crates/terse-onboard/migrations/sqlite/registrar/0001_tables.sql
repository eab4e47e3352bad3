-- What a registrar remembers (RFC 8995, 5.3 to 5.9). Times are in seconds since 1970; digests are SHA-256.

-- A pledge's voucher request, and what became of it.
CREATE TABLE requests (
    request BLOB NOT NULL PRIMARY KEY,
    idevid BLOB NOT NULL,
    serial_number TEXT NOT NULL,
    manufacturer TEXT NOT NULL,
    nonce BLOB NOT NULL,
    masa TEXT,
    received BIGINT NOT NULL,
    state TEXT NOT NULL,
    created_on BIGINT,
    sent BIGINT,
    registrar_request BLOB,
    content_type TEXT,
    voucher BLOB,
    domain_id BLOB,
    failure_status BIGINT,
    failure_text TEXT
);
CREATE INDEX requests_by_device ON requests (idevid, received);
CREATE INDEX requests_by_state ON requests (state, received);

-- A device that has a voucher, and how far it came with the last one.
CREATE TABLE joinings (
    idevid BLOB NOT NULL PRIMARY KEY,
    serial_number TEXT NOT NULL,
    manufacturer TEXT NOT NULL,
    request BLOB NOT NULL REFERENCES requests (request),
    begun BIGINT NOT NULL,
    voucher_status BIGINT,
    audit TEXT NOT NULL,
    audit_reason TEXT,
    audit_tried BIGINT NOT NULL,
    ldevid BLOB UNIQUE,
    enroll_status BIGINT
);
CREATE INDEX joinings_by_audit ON joinings (audit, audit_tried);

-- A certificate that was issued for a certification request, to a client that had presented this certificate.
CREATE TABLE certificates (
    request BLOB NOT NULL,
    client BLOB NOT NULL,
    idevid BLOB NOT NULL,
    certificate_sha256 BLOB NOT NULL UNIQUE,
    certificate BLOB NOT NULL,
    issued BIGINT NOT NULL,
    not_after BIGINT NOT NULL,
    PRIMARY KEY (request, client)
);
CREATE INDEX certificates_by_device ON certificates (idevid, issued);

-- What an operator has decided about a device.
CREATE TABLE decisions (
    idevid BLOB NOT NULL PRIMARY KEY,
    serial_number TEXT NOT NULL,
    manufacturer TEXT NOT NULL,
    is_allowed BIGINT NOT NULL,
    decided BIGINT NOT NULL
);

-- The last status messages of each device, numbered.
CREATE TABLE telemetry (
    idevid BLOB NOT NULL,
    number BIGINT NOT NULL,
    received BIGINT NOT NULL,
    topic TEXT NOT NULL,
    sender TEXT NOT NULL,
    status BIGINT NOT NULL,
    reason TEXT,
    needs_attention BIGINT NOT NULL,
    PRIMARY KEY (idevid, number)
);
