-- Version 1 of the registry. Times are milliseconds since the epoch.
CREATE TABLE pipeline (
  name TEXT PRIMARY KEY,
  owner TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL
) STRICT;

-- Only ever added to.
CREATE TABLE version (
  pipeline TEXT NOT NULL REFERENCES pipeline (name) ON DELETE CASCADE,
  n INTEGER NOT NULL,
  sql TEXT NOT NULL,
  message TEXT NOT NULL DEFAULT '',
  author TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  PRIMARY KEY (pipeline, n)
) STRICT;

CREATE TABLE deployment (
  pipeline TEXT PRIMARY KEY REFERENCES pipeline (name) ON DELETE CASCADE,
  version INTEGER NOT NULL,
  desired TEXT NOT NULL CHECK (desired IN ('running', 'stopped')),
  observed TEXT NOT NULL,
  why TEXT NOT NULL DEFAULT '',
  changed_at INTEGER NOT NULL
) STRICT;

CREATE TABLE run (
  id TEXT PRIMARY KEY,
  pipeline TEXT NOT NULL REFERENCES pipeline (name) ON DELETE CASCADE,
  version INTEGER NOT NULL,
  pid INTEGER,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  exit_code INTEGER,
  message TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX run_of_pipeline ON run (pipeline, started_at);

CREATE TABLE event (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  level TEXT NOT NULL,
  type TEXT NOT NULL,
  pipeline TEXT NOT NULL DEFAULT '',
  message TEXT NOT NULL
) STRICT;

CREATE TABLE token (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  sha256 TEXT NOT NULL UNIQUE,
  scopes TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  last_used INTEGER
) STRICT;

CREATE TABLE audit (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,
  token TEXT NOT NULL,
  verb TEXT NOT NULL,
  target TEXT NOT NULL,
  details TEXT NOT NULL DEFAULT ''
) STRICT;
