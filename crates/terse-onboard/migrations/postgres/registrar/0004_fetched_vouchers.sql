-- Whether the MASA could not be reached when it was asked for the audit log of a device last.
ALTER TABLE joinings ADD COLUMN audit_unsent BIGINT NOT NULL DEFAULT 0;
CREATE INDEX joinings_by_unsent_audit ON joinings (manufacturer, audit_tried) WHERE audit_unsent = 1;

-- A voucher without a nonce that an operator has asked for, or wants: by the SHA-256 of the registrar's request. Rows stay:
-- the audit log of a device names them. What is large is removed when a later voucher has come, or when this one has expired.
CREATE TABLE fetched (
    request BYTEA NOT NULL PRIMARY KEY,
    manufacturer TEXT NOT NULL,
    serial_number TEXT NOT NULL,
    idevid_issuer BYTEA NOT NULL,
    registrar_request BYTEA,
    created_on BIGINT NOT NULL,
    sent BIGINT NOT NULL,
    voucher BYTEA,
    expires BIGINT,
    domain_id BYTEA,
    audit TEXT NOT NULL,
    audit_reason TEXT
);
CREATE INDEX fetched_by_device ON fetched (manufacturer, serial_number, created_on);
CREATE INDEX fetched_by_end ON fetched (expires) WHERE voucher IS NOT NULL;

-- Which of them a pledge got: the answer to its request has no nonce then.
ALTER TABLE requests ADD COLUMN fetched BYTEA;
