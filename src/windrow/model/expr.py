"""Expressions: a small closed tree. Function names stay as the user wrote them; their meaning is Spark's.

Every node carries the ``span`` it came from. Spans never take part in comparison, so equal text in two places is equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from windrow.model.place import Span
from windrow.model.types import DataType

if TYPE_CHECKING:
    from windrow.model.query import Query


@dataclass(frozen=True, kw_only=True)
class Node:
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Literal(Node):
    """NULL, a boolean, a whole number, a decimal fraction as written (``Decimal``), a float (``1e3``) or a string."""

    value: Any


@dataclass(frozen=True)
class Interval(Node):
    """A length of time written as INTERVAL or as a duration (``5m``). Months and years are not durations: they stay calls."""

    micros: int


@dataclass(frozen=True)
class Column(Node):
    name: str
    qualifier: str | None = None


@dataclass(frozen=True)
class Star(Node):
    """``*`` or ``t.*``; only as a select item or inside COUNT."""

    qualifier: str | None = None


@dataclass(frozen=True)
class SortKey(Node):
    expr: Expr
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True)
class Call(Node):
    """A function or aggregate call. ``name`` is as written; ``name_span`` is the word alone, for carets."""

    name: str
    args: tuple[Expr, ...] = ()
    distinct: bool = False
    where: Expr | None = None
    within_group: tuple[SortKey, ...] = ()
    ignore_nulls: bool = False
    name_span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Unary(Node):
    """``-``, ``+``, ``NOT`` or ``~``."""

    op: str
    operand: Expr


@dataclass(frozen=True)
class Binary(Node):
    """``+ - * / % DIV || = == != <> < <= > >= <=> AND OR & | ^`` in upper case (``<>`` is stored as ``!=``, ``==`` as ``=``)."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Cast(Node):
    operand: Expr
    type: DataType
    is_try: bool = False


@dataclass(frozen=True)
class Case(Node):
    operand: Expr | None
    branches: tuple[tuple[Expr, Expr], ...]
    otherwise: Expr | None = None


@dataclass(frozen=True)
class Between(Node):
    operand: Expr
    low: Expr
    high: Expr
    negated: bool = False


@dataclass(frozen=True)
class InList(Node):
    operand: Expr
    items: tuple[Expr, ...]
    negated: bool = False


@dataclass(frozen=True)
class Like(Node):
    """``kind`` is LIKE, ILIKE or RLIKE."""

    kind: str
    operand: Expr
    pattern: Expr
    escape: Expr | None = None
    negated: bool = False


@dataclass(frozen=True)
class IsNull(Node):
    operand: Expr
    negated: bool = False


@dataclass(frozen=True)
class IsDistinct(Node):
    """``a IS [NOT] DISTINCT FROM b``; ``negated`` means NOT DISTINCT."""

    left: Expr
    right: Expr
    negated: bool = False


@dataclass(frozen=True)
class Index(Node):
    """``base[key]`` of an array or map."""

    base: Expr
    key: Expr


@dataclass(frozen=True)
class Field(Node):
    """``base.name`` of a struct, where ``base`` is not a plain qualifier."""

    base: Expr
    name: str


@dataclass(frozen=True)
class Path(Node):
    """``base:a.b[0]`` into a VARIANT or JSON string; ``path`` is JSONPath (``$.a.b[0]``)."""

    base: Expr
    path: str


@dataclass(frozen=True)
class Lambda(Node):
    """``(x, y) -> body``; the parameters are plain names inside ``body``."""

    parameters: tuple[str, ...]
    body: Expr


@dataclass(frozen=True)
class Frame(Node):
    """A row frame; None is UNBOUNDED, negative is PRECEDING, 0 is CURRENT ROW, positive is FOLLOWING.

    With ``is_interval``, a range is of time: its bounds are microseconds.
    """

    start: int | None
    end: int | None
    is_range: bool = False
    is_interval: bool = False


@dataclass(frozen=True)
class OverSpec(Node):
    """What stands inside OVER (...). ``buffer`` is the n of ROWS WINDOW BUFFER n ROWS."""

    partition_by: tuple[Expr, ...] = ()
    order_by: tuple[SortKey, ...] = ()
    frame: Frame | None = None
    buffer: int | None = None


@dataclass(frozen=True)
class Over(Node):
    call: Call
    spec: OverSpec


@dataclass(frozen=True)
class InQuery(Node):
    operand: Expr
    query: Query
    negated: bool = False


@dataclass(frozen=True)
class Exists(Node):
    query: Query
    negated: bool = False


@dataclass(frozen=True)
class ScalarQuery(Node):
    query: Query


@dataclass(frozen=True)
class Question:
    """A subquery over tables in which ``Slot("_p0")`` and so on stand for what it is told. Not a node: no rule about the row enters it."""

    subquery: InQuery | Exists | ScalarQuery


@dataclass(frozen=True)
class Asked(Node):
    """A question with what the row at hand tells it. Never comes out of the parser."""

    question: Question
    args: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Slot(Node):
    """A column the planner made: a group key, an aggregate's result. Never comes out of the parser."""

    name: str


Expr = (
    Literal
    | Interval
    | Column
    | Star
    | Call
    | Unary
    | Binary
    | Cast
    | Case
    | Between
    | InList
    | Like
    | IsNull
    | IsDistinct
    | Index
    | Field
    | Path
    | Lambda
    | Over
    | InQuery
    | Exists
    | ScalarQuery
    | Asked
    | Slot
)


N = TypeVar("N", bound=Node)


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below one, in the order they were written."""
    for spec in fields(node):
        yield from _nodes_in(getattr(node, spec.name))


def _nodes_in(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes_in(item)


def walk(node: Node) -> Iterator[Node]:
    """A node and everything below it, parents first.

    >>> [type(n).__name__ for n in walk(Binary("+", Column("a"), Literal(1)))]
    ['Binary', 'Column', 'Literal']
    """
    yield node
    for child in children(node):
        yield from walk(child)


def transform(node: N, change: Callable[[Node], Node | None]) -> N:
    """A copy in which ``change`` replaced nodes, asked from the top down; what it returns is not entered again.

    >>> transform(Binary("+", Column("a"), Literal(1)), lambda n: Slot("k0") if n == Column("a") else None)
    Binary(op='+', left=Slot(name='k0'), right=Literal(value=1))
    """
    changed = change(node)
    if changed is not None:
        return changed  # type: ignore[return-value]  # the caller's rule keeps the kind of place it fills
    updates = {}
    for spec in fields(node):
        value = getattr(node, spec.name)
        new = _transform_value(value, change)
        if new is not value:
            updates[spec.name] = new
    return replace(node, **updates) if updates else node


def _transform_value(value: Any, change: Callable[[Node], Node | None]) -> Any:
    if isinstance(value, Node):
        return transform(value, change)
    if isinstance(value, tuple):
        new = tuple(_transform_value(item, change) for item in value)
        return value if all(a is b for a, b in zip(new, value, strict=True)) else new
    return value
