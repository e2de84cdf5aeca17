-- Which process runs a background loop, and until when. Belongs to no guild.
CREATE TABLE auth.leases (
  name text COLLATE "C" PRIMARY KEY,
  holder uuid,
  leased_until timestamptz NOT NULL DEFAULT '-infinity'
);
