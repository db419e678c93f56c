"""What the columns of saved state mean, so that they are found by it and not by the names that a plan happened to give them.

A plan numbers group keys and aggregates as they stand in the SELECT list. Saved state says beside each column what it holds: the
expression of a key, the call of an aggregate and which part of it. Whoever loads it puts the columns under the names of their own plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow.errors import UsageError
from windrow.plan.physical.renames import part_names
from windrow.plan.stages import Aggregate
from windrow.sql import render_expr

KEY, PART, COLUMN = "key", "part", "column"


@dataclass(frozen=True)
class ColumnMeaning:
    """``of`` is the expression of a key or the call of an aggregate, as SQL; ``part`` which part of the aggregate."""

    role: str
    of: str
    part: str | None = None

    def __str__(self) -> str:
        return self.of if self.part is None else f"{self.of} ({self.part})"


# Of one stage, by column. What is not here is known by its own name: columns of the user's, bounds, counts.
Meanings = Mapping[str, ColumnMeaning]


def aggregate_meanings(stage: Aggregate) -> Meanings:
    """Of the groups of a statement: their keys, and the parts of its aggregates."""
    meanings = {slot: ColumnMeaning(KEY, render_expr(key)) for slot, key in stage.keys}
    for item in stage.aggregates:
        call = render_expr(item.call)
        meanings.update({column: ColumnMeaning(PART, call, part) for part, column in part_names(item).items()})
    return meanings


def describe(schemas: Sequence[pa.Schema], meanings: Meanings) -> dict[str, Any]:
    """What is saved beside the tables of a stage: of each column its role, what it means and its type."""
    found: dict[str, Any] = {}
    for column in (column for schema in schemas for column in schema):
        meaning = meanings.get(column.name)
        told = {"role": COLUMN} if meaning is None else {"role": meaning.role, "of": meaning.of}
        if meaning is not None and meaning.part is not None:
            told["part"] = meaning.part
        found.setdefault(column.name, {**told, "type": str(column.type)})
    return found


@dataclass(frozen=True)
class Renaming:
    """How the columns of a stage were called when they were saved, and what they are called now; None: nobody asks for them now."""

    stage: str
    names: Mapping[str, str | None]
    # What the saved columns were.
    roles: Mapping[str, str]
    # What is wanted now, in the order of the present plan.
    meanings: Meanings

    def table(self, table: pa.Table) -> pa.Table:
        columns = self._columns(table.column_names)
        return table if columns is None else table.select([old for old, _ in columns]).rename_columns([new for _, new in columns])

    def schema(self, schema: pa.Schema) -> pa.Schema:
        columns = self._columns(schema.names)
        return schema if columns is None else pa.schema([schema.field(old).with_name(new) for old, new in columns])

    def _columns(self, saved: Sequence[str]) -> list[tuple[str, str]] | None:
        """Each saved column that is wanted with its name of now, keys and parts in the order of now; None where that changes nothing."""
        known = {new: old for old in saved if (new := self.names.get(old, old)) is not None}
        self._refuse_missing(saved, known)
        if all(self.names.get(name, name) == name for name in saved):
            return None
        ordered = iter([name for name in self.meanings if name in known])
        names = [next(ordered) if name in self.meanings else name for name in known]
        return [(known[name], name) for name in names]

    def _refuse_missing(self, saved: Sequence[str], known: Mapping[str, str]) -> None:
        """A table that has parts must have all of them; one that has keys, all keys."""
        roles = {self.roles.get(name) for name in saved}
        for name, meaning in self.meanings.items():
            if meaning.role in roles and name not in known:
                raise _unlike(self.stage, f"holds nothing for {meaning}")


def renaming(stage: str, saved: Mapping[str, Any], meanings: Meanings) -> Renaming:
    """Find each saved column (as ``describe`` told) in the present plan: by its role, what it is of and its part."""
    free: dict[ColumnMeaning, list[str]] = {}
    for name, meaning in meanings.items():
        free.setdefault(meaning, []).append(name)
    names: dict[str, str | None] = {}
    for name, told in saved.items():
        if told["role"] == COLUMN:
            names[name] = name
            continue
        meaning = ColumnMeaning(told["role"], told["of"], told.get("part"))
        # The same call may be there twice: the first stands for the first.
        names[name] = free[meaning].pop(0) if free.get(meaning) else None
        if names[name] is None and meaning.role == KEY:
            raise _unlike(stage, f"is grouped by {meaning}")
    return Renaming(stage, names, {name: told["role"] for name, told in saved.items()}, meanings)


def _unlike(stage: str, what: str) -> UsageError:
    return UsageError(
        "WR804",
        f"the saved state of {stage} belongs to other statements: it {what}, unlike the statement of now",
        "start with a new --state folder, or undo the change",
    )
