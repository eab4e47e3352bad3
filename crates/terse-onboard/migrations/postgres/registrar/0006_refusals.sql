-- How often in a row an EST server has refused a request: it is sent again after 1, 2, 4 and so on up to 60 minutes.
ALTER TABLE passed_on ADD COLUMN refusals BIGINT NOT NULL DEFAULT 0;
