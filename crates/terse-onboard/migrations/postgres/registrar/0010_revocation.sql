-- Certificates of the registrar's own CA that are revoked, by the SHA-256 of the CA's public key and by their serial numbers
-- (RFC 5280, 5). They are numbered in the order in which they came, so that a list says up to which of them it is complete.
CREATE TABLE revoked (
    issuer BYTEA NOT NULL,
    serial BYTEA NOT NULL,
    number BIGINT NOT NULL,
    revoked BIGINT NOT NULL,
    not_after BIGINT NOT NULL,
    reason BIGINT,
    PRIMARY KEY (issuer, serial)
);
CREATE UNIQUE INDEX revoked_by_number ON revoked (issuer, number);
CREATE INDEX revoked_by_end ON revoked (issuer, not_after);

-- The list (CRL) of each CA that was signed last: its CRL number, and the number of the last row that it has.
CREATE TABLE crls (
    issuer BYTEA NOT NULL PRIMARY KEY,
    number BIGINT NOT NULL,
    this_update BIGINT NOT NULL,
    next_update BIGINT NOT NULL,
    complete_to BIGINT NOT NULL,
    crl BYTEA NOT NULL
);

-- Devices whose certificates were revoked here, until an operator accepts them again.
CREATE TABLE kept_out (
    idevid BYTEA NOT NULL PRIMARY KEY,
    since BIGINT NOT NULL
);
