"""What rows that are changes of other rows are called: the column that says which change each is, and its values."""

from __future__ import annotations

from windrow.model.types import STRING, ColumnDef

OP = ColumnDef("_op", STRING)
"""Every row of a source of changes has it, listed or not."""

CREATED, SNAPSHOT, UPDATED, DELETED = "c", "r", "u", "d"
# What else is known of a change, for those who list a column of that name: the row before, where it comes from, and when it was made.
BEFORE, SOURCE, CHANGED_AT = "_before", "_source", "_changed_at"
