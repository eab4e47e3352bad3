-- Whether a device supports raw public keys alone: vouchers for it pin the registrar's key.
ALTER TABLE devices ADD COLUMN raw_public_keys_only BIGINT NOT NULL DEFAULT 0;
