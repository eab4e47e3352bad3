-- A certification request that was passed on to an EST server. There is a status, and a reason for the device, unless the
-- request is under way; it may be sent again after `next`.
CREATE TABLE passed_on (
    request BLOB NOT NULL,
    client BLOB NOT NULL,
    idevid BLOB NOT NULL,
    begun BIGINT NOT NULL,
    next BIGINT NOT NULL,
    status BIGINT,
    reason TEXT,
    PRIMARY KEY (request, client)
);
CREATE INDEX passed_on_by_device ON passed_on (idevid, begun);
CREATE INDEX passed_on_by_age ON passed_on (begun);

-- The CA certificates that an EST server has sent last, in a certs-only CMS.
CREATE TABLE ca_certificates (
    server TEXT NOT NULL PRIMARY KEY,
    fetched BIGINT NOT NULL,
    certificates BLOB NOT NULL
);
