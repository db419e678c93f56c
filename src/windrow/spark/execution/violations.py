"""What becomes of rows that violate a constraint: counted by its name, kept as dead letters, or the end of the job."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from windrow.errors import JobError
from windrow.model.constraint import Constraint
from windrow.model.fate import FIRST_VIOLATION, Fate
from windrow.spark.execution.dead_letters import DeadLetter, json_value
from windrow.sql import render_expr

_LONGEST_ROW = 300


def violated(constraints: tuple[Constraint, ...], number: int) -> Constraint:
    """The constraint that a number in ``_fate`` names."""
    return constraints[number - FIRST_VIOLATION]


def said_of(constraint: Constraint) -> str:
    return f"the row violates constraint {constraint.name}: EXPECT ({render_expr(constraint.condition)})"


def violation_letters(
    constraint: Constraint, source: str, statement: str | None, rows: Iterator[Mapping[str, Any]], batch_id: int
) -> list[DeadLetter]:
    why = said_of(constraint)
    return [DeadLetter(Fate.VIOLATION, source, statement, row, batch_id, why, constraint=constraint.name) for row in rows]


def refuse_violation(stream: str, constraint: Constraint, rows: int, one: DeadLetter) -> None:
    """Stop the job. Nothing of the batch has been written by then."""
    held = json.dumps(one.values, default=json_value, ensure_ascii=False)
    place = ", ".join(f"{word} {value}" for word, name in _PLACES if (value := one.row.get(name)) is not None)
    shown = held if len(held) <= _LONGEST_ROW else held[: _LONGEST_ROW - 1] + "…"
    raise JobError(
        Fate.VIOLATION.code,
        f"{stream}: {rows:,} row{'' if rows == 1 else 's'} of the batch violate{'s' if rows == 1 else ''} constraint {constraint.name}, "
        f"EXPECT ({render_expr(constraint.condition)}) ON VIOLATION FAIL; nothing of the batch was written. The first: {shown}"
        + (f" ({place})" if place else ""),
        "correct the rows where they come from, or write ON VIOLATION DEAD_LETTER: the state stays, and the job goes on with this batch",
    )


_PLACES = (("topic", "_topic"), ("partition", "_partition"), ("offset", "_offset"))
