-- All entries of the audit log are links of one chain. `position` counts them from 1. `hash` is the SHA-256 of the link before and
-- of all fields of the entry; `request`, `voucher_sha256` and `expires_on` say which voucher it is about.
ALTER TABLE audit_log ADD COLUMN position BIGINT;
ALTER TABLE audit_log ADD COLUMN hash BYTEA;
ALTER TABLE audit_log ADD COLUMN request BYTEA;
ALTER TABLE audit_log ADD COLUMN voucher_sha256 BYTEA;
ALTER TABLE audit_log ADD COLUMN expires_on BIGINT;

CREATE UNIQUE INDEX audit_log_by_position ON audit_log (position);

-- The end of the chain. The service links the entries that are there already, ordered by serial number, issuer and number; until
-- then there is no hash.
CREATE TABLE audit_head (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    length BIGINT NOT NULL,
    hash BYTEA
);

INSERT INTO audit_head (id, length, hash) VALUES (1, 0, NULL);

-- Programs of earlier versions, which may still run, issue no vouchers any more: their entries would have no links.
ALTER TABLE audit_log ADD CONSTRAINT audit_log_is_linked CHECK (position IS NOT NULL AND hash IS NOT NULL) NOT VALID;
