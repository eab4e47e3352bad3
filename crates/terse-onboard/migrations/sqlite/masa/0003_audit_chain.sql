-- All entries of the audit log are links of one chain. `position` counts them from 1. `hash` is the SHA-256 of the link before and
-- of all fields of the entry; `request`, `voucher_sha256` and `expires_on` say which voucher it is about.
ALTER TABLE audit_log ADD COLUMN position BIGINT;
ALTER TABLE audit_log ADD COLUMN hash BLOB;
ALTER TABLE audit_log ADD COLUMN request BLOB;
ALTER TABLE audit_log ADD COLUMN voucher_sha256 BLOB;
ALTER TABLE audit_log ADD COLUMN expires_on BIGINT;

CREATE UNIQUE INDEX audit_log_by_position ON audit_log (position);

-- The end of the chain. The service links the entries that are there already, ordered by serial number, issuer and number; until
-- then there is no hash.
CREATE TABLE audit_head (
    id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1),
    length BIGINT NOT NULL,
    hash BLOB
);

INSERT INTO audit_head (id, length, hash) VALUES (1, 0, NULL);

-- Programs of earlier versions, which may still run, issue no vouchers any more: their entries would have no links.
CREATE TRIGGER audit_log_is_linked BEFORE INSERT ON audit_log WHEN NEW.position IS NULL OR NEW.hash IS NULL
BEGIN
    SELECT RAISE(ABORT, 'the entry has no link; use the newest program of those that share the database');
END;
