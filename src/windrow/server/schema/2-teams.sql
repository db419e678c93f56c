-- Version 2 of the registry: teams, environments, flags, plans, long operations, alerts.
ALTER TABLE pipeline ADD COLUMN team TEXT NOT NULL DEFAULT '';
ALTER TABLE pipeline ADD COLUMN tags TEXT NOT NULL DEFAULT '';
ALTER TABLE version ADD COLUMN project TEXT NOT NULL DEFAULT '';
ALTER TABLE deployment RENAME TO old_deployment;

-- ``name`` is the pipeline's own, or pipeline@environment.
CREATE TABLE deployment (
  name TEXT PRIMARY KEY,
  pipeline TEXT NOT NULL REFERENCES pipeline (name) ON DELETE CASCADE,
  env TEXT NOT NULL DEFAULT '',
  version INTEGER NOT NULL,
  desired TEXT NOT NULL CHECK (desired IN ('running', 'stopped', 'paused')),
  observed TEXT NOT NULL,
  why TEXT NOT NULL DEFAULT '',
  asked_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT;
INSERT INTO deployment SELECT pipeline, pipeline, '', version, desired, observed, why, changed_at, changed_at FROM old_deployment;
DROP TABLE old_deployment;

DROP TABLE run;
CREATE TABLE run (
  id TEXT PRIMARY KEY,
  deployment TEXT NOT NULL REFERENCES deployment (name) ON DELETE CASCADE,
  version INTEGER NOT NULL,
  pid INTEGER,
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  exit_code INTEGER,
  outcome TEXT NOT NULL DEFAULT '',
  message TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX run_of_deployment ON run (deployment, started_at);

CREATE TABLE environment (
  name TEXT PRIMARY KEY,
  is_protected INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Only ever added to; the newest of a name in an environment holds.
CREATE TABLE flag (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  env TEXT NOT NULL DEFAULT '',
  value TEXT,
  at INTEGER NOT NULL,
  author TEXT NOT NULL
) STRICT;

CREATE TABLE plan (
  id TEXT PRIMARY KEY,
  deployment TEXT NOT NULL,
  from_version INTEGER NOT NULL,
  to_version INTEGER NOT NULL,
  content TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  approved_by TEXT NOT NULL DEFAULT '',
  expires_at INTEGER NOT NULL,
  operation TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE operation (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  deployment TEXT NOT NULL,
  state TEXT NOT NULL,
  step TEXT NOT NULL DEFAULT '',
  content TEXT NOT NULL DEFAULT '{}',
  idempotency_key TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  ended_at INTEGER
) STRICT;

CREATE TABLE alert (
  id TEXT PRIMARY KEY,
  rule TEXT NOT NULL,
  labels TEXT NOT NULL,
  level TEXT NOT NULL,
  summary TEXT NOT NULL,
  state TEXT NOT NULL,
  value DOUBLE PRECISION,
  since INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  acknowledged_by TEXT NOT NULL DEFAULT ''
);

CREATE TABLE silence (
  id TEXT PRIMARY KEY,
  rule TEXT NOT NULL,
  job TEXT NOT NULL,
  until_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  reason TEXT NOT NULL
) STRICT;
