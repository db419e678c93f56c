-- Version 3 of the registry: alerts with what they are about, who was told of them, rules that somebody has changed.
ALTER TABLE alert ADD COLUMN job TEXT NOT NULL DEFAULT '';
ALTER TABLE alert ADD COLUMN what_to_do TEXT NOT NULL DEFAULT '';
CREATE INDEX alert_of_state ON alert (state, changed_at);
ALTER TABLE silence ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;

CREATE TABLE alert_told (
  alert TEXT NOT NULL,
  channel TEXT NOT NULL,
  state TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (alert, channel)
) STRICT;

-- What is NULL is as the rule itself has it.
CREATE TABLE alert_rule (
  rule TEXT PRIMARY KEY,
  is_on INTEGER NOT NULL,
  hold_seconds INTEGER,
  level TEXT,
  changed_by TEXT NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT;
