"""Joins of two streams beside the one within a bound of time: the newest earlier row, and joins inside windows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from windrow.model.window import DeadLetterLate, DropLate
from windrow.model.window_kinds import FixedKind, MovingKind

if TYPE_CHECKING:
    from windrow.model.expr import Expr
    from windrow.plan.stages import Side

# The start of its window, as a column of a pair and no bound of a window: a statement that groups the pairs has it as a key.
PAIR_START = "_pair.start"


@dataclass(frozen=True)
class AsofJoin:
    """Each left row with the newest right row of its keys that is not later; ``is_exclusive``: that is earlier.

    ``nulls_meet`` says of each key whether NULL is equal to NULL.
    """

    name: str
    left: Side
    right: Side
    keys: tuple[tuple[Expr, Expr], ...]
    nulls_meet: tuple[bool, ...]
    times: tuple[Expr, Expr]
    is_exclusive: bool
    keeps_left: bool
    # How much older than its event time a left row's time may be: it is part of a pair with a younger row.
    lag: int = 0
    is_strict: bool = False
    reason: str = ""
    late: DeadLetterLate | DropLate = field(default_factory=DeadLetterLate)
    # What the planner changed, for EXPLAIN.
    rewrites: tuple[str, ...] = field(default=(), repr=False)

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.left.input, self.right.input)))

    @property
    def held_back(self) -> int:
        """A left row comes out in the batch whose watermark passes its time, so nothing that follows has to wait for it."""
        return self.lag


@dataclass(frozen=True)
class WindowJoin:
    """Pairs of rows of two streams in the same window, put out once for each window that holds both, when it closes.

    A row of a side that is kept comes out alone, for each window in which it met nothing. Sessions are made of the rows of both sides
    that have the same keys.
    """

    name: str
    left: Side
    right: Side
    keys: tuple[tuple[Expr, Expr], ...]
    nulls_meet: tuple[bool, ...]
    times: tuple[Expr, Expr]
    window: FixedKind | MovingKind
    lateness: int
    residual: Expr | None
    keeps_left: bool
    keeps_right: bool
    is_strict: bool = False
    reason: str = ""
    late: DeadLetterLate | DropLate = field(default_factory=DeadLetterLate)
    # What the planner changed, for EXPLAIN.
    rewrites: tuple[str, ...] = field(default=(), repr=False)

    @property
    def lag(self) -> int:
        """Rows of windows are judged by their event time."""
        return 0

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.left.input, self.right.input)))

    @property
    def held_back(self) -> int:
        """A window waits for late rows before it is joined, and what follows must wait as long."""
        return self.lateness
