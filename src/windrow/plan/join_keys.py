"""What the two sides of a join of streams have in common: whose a column is, and which expressions are compared."""

from __future__ import annotations

from dataclasses import dataclass, replace

from windrow.catalog.numeric import common_type
from windrow.catalog.time_bounds import Equality, SideName, equality_of
from windrow.model.expr import Cast, Column, Expr, Literal, walk
from windrow.model.types import TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN, ColumnDef, DataType
from windrow.plan.join_names import JoinedColumns, JoinInput
from windrow.plan.stages import Side

_ONE_KEY = Literal(1)


@dataclass(frozen=True)
class JoinKeys:
    """``used`` are the conditions that the keys stand for."""

    pairs: tuple[tuple[Expr, Expr], ...]
    nulls_meet: tuple[bool, ...]
    used: tuple[Expr, ...]


@dataclass(frozen=True)
class JoinSides:
    """Which side of a join a column belongs to."""

    columns: JoinedColumns
    left: frozenset[str]
    right: frozenset[str]

    @staticmethod
    def of_sides(columns: JoinedColumns, left: Side, right: Side) -> JoinSides:
        return JoinSides(columns, frozenset(c.name for c in physical(left)), frozenset(c.name for c in physical(right)))

    def of(self, column: Column) -> SideName | None:
        return "left" if column.name in self.left else "right" if column.name in self.right else None

    def of_time(self, column: Column) -> SideName | None:
        return self.of(column) if self.columns.type_of(column) in (TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN) else None

    def of_expr(self, expr: Expr) -> str:
        """left, right, both or none: whose columns an expression is made of."""
        found = {self.of(node) for node in walk(expr) if isinstance(node, Column)}
        return "none" if not found else "both" if len(found) > 1 else found.pop() or "none"

    def keys(self, conditions: list[Expr]) -> JoinKeys:
        """Equalities of something on the left and something on the right. Without any, all rows have one key: every two may be a pair."""
        pairs: list[tuple[Expr, Expr]] = []
        meets: list[bool] = []
        used: list[Expr] = []
        for condition in conditions:
            equal = equality_of(condition)
            if equal is None:
                continue
            sides = self.of_expr(equal.left), self.of_expr(equal.right)
            if set(sides) == {"left", "right"}:
                pairs.append(self.key_pair(equal if sides == ("left", "right") else Equality(equal.right, equal.left, equal.nulls_meet)))
                meets.append(equal.nulls_meet)
                used.append(condition)
        if not pairs:
            return JoinKeys(((_ONE_KEY, _ONE_KEY),), (False,), ())
        return JoinKeys(tuple(pairs), tuple(meets), tuple(used))

    def key_pair(self, equal: Equality) -> tuple[Expr, Expr]:
        """Keys are compared as they are, so different types are made one first."""
        types = [self._type(equal.left), self._type(equal.right)]
        if UNKNOWN in types or types[0] == types[1]:
            return equal.left, equal.right
        common = common_type(types)
        return (equal.left, equal.right) if common == UNKNOWN else (Cast(equal.left, common), Cast(equal.right, common))

    def _type(self, expr: Expr) -> DataType:
        return self.columns.type_of(expr) if isinstance(expr, Column) else expr.type if isinstance(expr, Cast) else UNKNOWN


def physical(side: Side) -> tuple[ColumnDef, ...]:
    """A side's columns under their physical names, system columns too."""
    if side.prefix is None:
        return side.columns
    return JoinInput(side.prefix, side.input, side.columns, False).physical


def pruned(side: Side, kept: set[str], compared: set[str], where: Expr | None) -> Side:
    """Rows wait in memory with what is read of them later (``kept``); what is only ``compared`` as they come is not kept."""
    if side.prefix is None:
        return replace(side, columns=tuple(c for c in side.columns if c.name in kept), where=where)
    every = JoinInput(side.prefix, side.input, side.columns, False).physical
    start = len(side.prefix) + 1

    def own(wanted: set[str]) -> tuple[ColumnDef, ...]:
        return tuple(replace(c, name=c.name[start:]) for c in every if c.name in wanted)

    return replace(side, columns=own(kept), compared=own(compared - kept), where=where)
