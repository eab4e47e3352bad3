-- The devices of a manufacturer. `entries` is the length of the audit log: whoever adds an entry states how long the log was
-- when the decision was made, so that no two decisions are made about one state. A device that is not registered has only
-- its log here.
CREATE TABLE devices (
    serial_number TEXT NOT NULL,
    idevid_issuer BYTEA NOT NULL,
    is_registered BIGINT NOT NULL,
    is_blocked BIGINT NOT NULL,
    sold_to TEXT NOT NULL,
    owner BYTEA,
    entries BIGINT NOT NULL,
    PRIMARY KEY (serial_number, idevid_issuer)
);

-- The audit log of each device (RFC 8995, 5.8), numbered from 1. Dates are seconds since 1970.
CREATE TABLE audit_log (
    serial_number TEXT NOT NULL,
    idevid_issuer BYTEA NOT NULL,
    number BIGINT NOT NULL,
    date BIGINT NOT NULL,
    domain_id BYTEA NOT NULL,
    domain_key BYTEA NOT NULL,
    nonce BYTEA,
    assertion TEXT NOT NULL,
    PRIMARY KEY (serial_number, idevid_issuer, number),
    FOREIGN KEY (serial_number, idevid_issuer) REFERENCES devices (serial_number, idevid_issuer)
);

CREATE INDEX audit_log_by_domain_id ON audit_log (serial_number, idevid_issuer, domain_id, domain_key);
CREATE INDEX audit_log_by_domain_key ON audit_log (serial_number, idevid_issuer, domain_key, number);

-- The signed vouchers, by the SHA-256 of the request, with the entry of the audit log that each belongs to.
CREATE TABLE issued_vouchers (
    request BYTEA NOT NULL PRIMARY KEY,
    voucher BYTEA NOT NULL,
    expires_on BIGINT,
    serial_number TEXT NOT NULL,
    idevid_issuer BYTEA NOT NULL,
    number BIGINT NOT NULL,
    UNIQUE (serial_number, idevid_issuer, number),
    FOREIGN KEY (serial_number, idevid_issuer, number) REFERENCES audit_log (serial_number, idevid_issuer, number)
);
