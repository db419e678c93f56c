"""Constraints: what a stream expects of its rows, and what becomes of a row that is not so."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from windrow.model.expr import Expr, Node


class OnViolation(Enum):
    """The value is how it is written after ON VIOLATION."""

    DEAD_LETTER = "DEAD_LETTER"
    DROP = "DROP"
    WARN = "WARN"
    FAIL = "FAIL"

    @property
    def policy(self) -> str:
        """As the options name what becomes of a bad row."""
        return self.value.lower()


@dataclass(frozen=True)
class Constraint(Node):
    """A row violates it where the condition is false. As with CHECK in SQL, a condition that is NULL is no violation."""

    name: str
    condition: Expr
    on_violation: OnViolation = OnViolation.WARN


def judging(constraints: tuple[Constraint, ...]) -> tuple[tuple[int, Constraint], ...]:
    """Those that decide what becomes of a row, in the order they are asked, each with its number: what stops the job comes first.

    >>> from windrow.model.expr import Literal
    >>> found = [Constraint(each.name.lower(), Literal(True), each) for each in OnViolation]
    >>> [(number, each.name) for number, each in judging(tuple(found))]
    [(3, 'fail'), (0, 'dead_letter'), (1, 'drop')]
    """
    numbered = [each for each in enumerate(constraints) if each[1].on_violation is not OnViolation.WARN]
    return tuple(sorted(numbered, key=lambda each: each[1].on_violation is not OnViolation.FAIL))


def warning(constraints: tuple[Constraint, ...]) -> tuple[Constraint, ...]:
    """Those whose violations are only counted."""
    return tuple(each for each in constraints if each.on_violation is OnViolation.WARN)
