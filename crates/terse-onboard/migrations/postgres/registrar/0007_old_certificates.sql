-- Certificates that have expired are looked for, but for the newest of each device.
CREATE INDEX certificates_by_end ON certificates (not_after);
