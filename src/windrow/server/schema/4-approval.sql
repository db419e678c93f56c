-- Version 4 of the registry: files of a version, groups, who approved by the id of the token, flags that wait for an approval.
ALTER TABLE pipeline ADD COLUMN grp TEXT NOT NULL DEFAULT '';
ALTER TABLE version ADD COLUMN files TEXT NOT NULL DEFAULT '';
ALTER TABLE plan ADD COLUMN creator TEXT NOT NULL DEFAULT '';
ALTER TABLE plan ADD COLUMN approver TEXT NOT NULL DEFAULT '';
ALTER TABLE plan ADD COLUMN kind TEXT NOT NULL DEFAULT 'apply';
ALTER TABLE flag ADD COLUMN is_secret INTEGER NOT NULL DEFAULT 0;

-- A flag of a protected environment: set when somebody else has approved it.
CREATE TABLE flag_wish (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  env TEXT NOT NULL,
  value TEXT,
  is_secret INTEGER NOT NULL,
  at INTEGER NOT NULL,
  author TEXT NOT NULL,
  creator TEXT NOT NULL,
  approved_by TEXT NOT NULL DEFAULT '',
  approved_at INTEGER
) STRICT;
