"""Filter pushdown: conditions on one side of a join act on that side before it, where the kind of join allows it.

| join  | WHERE on the left | WHERE on the right              | ON, left only | ON, right only |
|-------|-------------------|---------------------------------|---------------|----------------|
| INNER | before            | before                          | before        | before         |
| LEFT  | before            | before, and the join is INNER * | stays         | before         |
| RIGHT | mirrored: as the other side of LEFT |                 |               |                |
| FULL  | stays             | stays                           | stays         | stays          |

\\* where the condition cannot hold for a row without a partner, whose columns are NULL.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from windrow.catalog.binding import all_of
from windrow.catalog.time_bounds import conjuncts
from windrow.model.expr import (
    Asked,
    Between,
    Binary,
    Call,
    Cast,
    Column,
    Expr,
    InList,
    IsNull,
    Lambda,
    Like,
    Literal,
    Node,
    Over,
    Star,
    Unary,
    walk,
)
from windrow.model.query import JoinKind
from windrow.plan.explain_joins import as_written

_NOT_PUSHED = frozenset({"rand", "random", "randn", "uuid", "shuffle", "monotonically_increasing_id", "input_file_name", "raise_error"})
_STRICT = frozenset({"=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "DIV", "||"})
_COMPARISONS = frozenset({"=", "!=", "<", "<=", ">", ">="})


@dataclass(frozen=True)
class JoinStep:
    """One join of a chain: the inputs before it are on its left, ``right`` is the input that it adds."""

    kind: JoinKind
    right: str
    conditions: tuple[Expr, ...]
    # The newest earlier row: what ON says of the right side decides which row that is, so WHERE must not.
    is_asof: bool = False
    # A table is looked up: what is asked of it stays in the lookup.
    is_table: bool = False


@dataclass(frozen=True)
class SideFilters:
    """What acts on the rows of each side before a join. ``inner_because`` is the condition that made a join, ``was``, an inner one."""

    left: tuple[Expr, ...] = ()
    right: tuple[Expr, ...] = ()
    inner_because: Expr | None = None
    was: JoinKind = JoinKind.INNER


@dataclass(frozen=True)
class Pushed:
    """The joins with what is left of their conditions, the filters of their sides, and what is left of WHERE."""

    steps: tuple[JoinStep, ...]
    filters: tuple[SideFilters, ...]
    where: Expr | None

    def rewrites(self, index: int) -> tuple[str, ...]:
        """What to say of a join that is not run as it was written."""
        found = self.filters[index]
        if found.inner_because is None:
            return ()
        return (f"{found.was.value} JOIN runs as JOIN: a row without a partner does not pass {as_written(found.inner_because)}",)


def push_filters(first: str, steps: tuple[JoinStep, ...], where: Expr | None, *, may_move: bool = True) -> Pushed:
    """``first`` is the input that the chain begins with; inputs are named by the prefix of their columns.

    Where nothing may move, only what ASOF JOIN says of its right side acts there.
    """
    chain = _Chain(first, list(steps), [SideFilters() for _ in steps])
    kept = [condition for condition in conjuncts(where) if not (may_move and chain.take(condition))]
    for index, step in enumerate(steps):
        if not step.is_table and (may_move or step.is_asof):
            chain.take_own(index)
    return Pushed(tuple(chain.steps), tuple(chain.filters), all_of(kept))


@dataclass
class _Chain:
    first: str
    steps: list[JoinStep]
    filters: list[SideFilters]

    def take(self, condition: Expr) -> bool:
        """Put a condition of WHERE before the join that brings in its columns; false where it must stay."""
        owner = owner_of(condition)
        if owner is None:
            return False
        if owner == self.first:
            return self._take_first(condition)
        index = next((i for i, step in enumerate(self.steps) if step.right == owner), None)
        if index is None or not all(self._passes_left(step) for step in self.steps[index + 1 :]):
            return False
        return self._take_right(index, condition, owner)

    def _take_first(self, condition: Expr) -> bool:
        index = next((i for i, step in enumerate(self.steps) if not step.is_table), None)
        turned = [i for i, step in enumerate(self.steps) if step.kind is JoinKind.RIGHT]
        stays = not all(self._passes_left(step) or step.kind is JoinKind.RIGHT for step in self.steps)
        if index is None or stays or (turned and not rejects_nulls(condition, self.first)):
            return False
        for each in turned:
            self._turn_inner(each, condition)
        self.filters[index] = replace(self.filters[index], left=(*self.filters[index].left, condition))
        return True

    def _turn_inner(self, index: int, because: Expr) -> None:
        step = self.steps[index]
        self.steps[index] = replace(step, kind=JoinKind.INNER)
        self.filters[index] = replace(self.filters[index], inner_because=because, was=step.kind)

    def _take_right(self, index: int, condition: Expr, owner: str) -> bool:
        step = self.steps[index]
        if step.is_asof or step.is_table or step.kind is JoinKind.FULL:
            return False
        if step.kind is JoinKind.LEFT:
            if not rejects_nulls(condition, owner):
                return False
            self._turn_inner(index, condition)
        self.filters[index] = replace(self.filters[index], right=(*self.filters[index].right, condition))
        return True

    def _passes_left(self, step: JoinStep) -> bool:
        """Whether a condition on the rows to the left of a join means the same before it."""
        return step.kind in (JoinKind.INNER, JoinKind.CROSS, JoinKind.LEFT)

    def take_own(self, index: int) -> None:
        """Conditions of ON on one side only."""
        step, found = self.steps[index], self.filters[index]
        stays: list[Expr] = []
        for condition in step.conditions:
            owner = owner_of(condition)
            if owner == step.right and step.kind in (JoinKind.INNER, JoinKind.LEFT):
                found = replace(found, right=(*found.right, condition))
            elif owner is not None and owner != step.right and step.kind in (JoinKind.INNER, JoinKind.RIGHT) and not step.is_asof:
                found = replace(found, left=(*found.left, condition))
            else:
                stays.append(condition)
        self.steps[index] = replace(step, conditions=tuple(stays))
        self.filters[index] = found


def owner_of(condition: Expr) -> str | None:
    """The one input whose columns a condition is made of, by their prefix; None where there is another, or it must not move."""
    owners: set[str] = set()
    for node in walk(condition):
        if isinstance(node, Asked | Over | Star | Lambda) or (isinstance(node, Call) and node.name.lower() in _NOT_PUSHED):
            return None
        if isinstance(node, Column):
            prefix, dot, _ = node.name.partition(".")
            owners.add(prefix if dot else "")
    return owners.pop() if len(owners) == 1 and "" not in owners else None


def rejects_nulls(condition: Expr, owner: str) -> bool:
    """Whether a condition is not true where every column of an input is NULL.

    >>> rejects_nulls(Binary(">", Column("b.x"), Literal(1)), "b"), rejects_nulls(IsNull(Column("b.x")), "b")
    (True, False)
    """
    match condition:
        case Binary(op="AND", left=left, right=right):
            return rejects_nulls(left, owner) or rejects_nulls(right, owner)
        case Binary(op="OR", left=left, right=right):
            return rejects_nulls(left, owner) and rejects_nulls(right, owner)
        case Binary(op=op, left=left, right=right) if op in _COMPARISONS:
            return _is_null(left, owner) or _is_null(right, owner)
        case Between(operand=operand):
            return _is_null(operand, owner) and not condition.negated
        case InList(operand=operand) | Like(operand=operand):
            return _is_null(operand, owner)
        case IsNull(operand=operand, negated=True):
            return _is_null(operand, owner)
        case Column():
            return _is_null(condition, owner)
        case _:
            return False


def _is_null(expr: Node, owner: str) -> bool:
    """Whether an expression is NULL where every column of an input is."""
    match expr:
        case Column(name=name):
            return name.partition(".")[0] == owner
        case Cast(operand=operand) | Unary(operand=operand):
            return _is_null(operand, owner)
        case Binary(op=op, left=left, right=right) if op in _STRICT:
            return _is_null(left, owner) or _is_null(right, owner)
        case Literal(value=None):
            return True
        case _:
            return False


def columns_of(asking: Iterable[Node]) -> set[str]:
    """The columns that are asked for."""
    return {node.name for each in asking for node in walk(each) if isinstance(node, Column)}
