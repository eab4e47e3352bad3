-- When the device first got an identity key with its last voucher.
ALTER TABLE joinings ADD COLUMN identity_key_given BIGINT;
