-- A request that is removed is looked for among the devices that join, because of the foreign key.
CREATE INDEX joinings_by_request ON joinings (request);
