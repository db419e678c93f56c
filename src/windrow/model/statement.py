"""Statements of a file, in the order they were written."""

from __future__ import annotations

from dataclasses import dataclass, field

from windrow.model.constraint import Constraint
from windrow.model.expr import Column, Node
from windrow.model.notes import Notes
from windrow.model.options import Options
from windrow.model.place import SourceText, Span
from windrow.model.query import Query
from windrow.model.types import ColumnDef, DataType


@dataclass(frozen=True)
class Annotation(Node):
    """A ``-- @key: value`` comment. ``span`` covers the comment, ``value_span`` the value."""

    key: str
    value: str
    value_span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class StatementBase(Node):
    annotations: tuple[Annotation, ...] = ()
    # What the annotations say.
    notes: Notes = field(default=Notes(), compare=False, repr=False)


@dataclass(frozen=True)
class CreateStream(StatementBase):
    """An external source."""

    name: str
    columns: tuple[ColumnDef, ...]
    options: Options
    constraints: tuple[Constraint, ...] = ()


@dataclass(frozen=True)
class CreateStreamAs(StatementBase):
    name: str
    query: Query
    options: Options = Options()
    constraints: tuple[Constraint, ...] = ()


@dataclass(frozen=True)
class CreateTable(StatementBase):
    """Reference data, with the latest row per primary key."""

    name: str
    columns: tuple[ColumnDef, ...]
    primary_key: tuple[str, ...]
    options: Options


@dataclass(frozen=True)
class CreateTableAs(StatementBase):
    name: str
    query: Query
    options: Options = Options()


@dataclass(frozen=True)
class CreateFunction(StatementBase):
    """A Python function: ``target`` is ``module:function``."""

    name: str
    parameters: tuple[ColumnDef, ...]
    returns: DataType
    target: str


@dataclass(frozen=True)
class InsertInto(StatementBase):
    """One more query that feeds a stream. ``columns`` says where its values go; without a list they go by position."""

    name: str
    query: Query
    columns: tuple[Column, ...] = ()


@dataclass(frozen=True)
class SelectStatement(StatementBase):
    """A bare SELECT: prints to the console; its output is called ``out``."""

    query: Query


EXPLAIN_FORMATS = ("TEXT", "JSON", "MERMAID", "DOT", "SVG")


@dataclass(frozen=True)
class ExplainOptions:
    """``analyze``: with what a run did. ``topology``: boxes and arrows instead of a tree. ``format`` is one of ``EXPLAIN_FORMATS``."""

    analyze: bool = False
    verbose: bool = False
    topology: bool = False
    format: str = "TEXT"


@dataclass(frozen=True)
class Explain(StatementBase):
    """``aspect`` is PLAN, LINEAGE for the columns that a statement's columns follow from, or IMPACT for what it would do to the others
    in the place of the one that the file has.
    """

    statement: Statement
    aspect: str = "PLAN"
    options: ExplainOptions = ExplainOptions()


# What is asked of all statements of a file together, and spelled EXPLAIN.
OF_ALL_STATEMENTS = ("MULTI_QUERY", "SHARED_RESOURCES", "OPTIMIZATION_OPPORTUNITIES")


@dataclass(frozen=True)
class Show(StatementBase):
    """``what`` is STREAMS, TABLES, FUNCTIONS or JOBS, or one of ``OF_ALL_STATEMENTS``; ``like`` a pattern for their names."""

    what: str
    like: str | None = None


@dataclass(frozen=True)
class Describe(StatementBase):
    name: str


@dataclass(frozen=True)
class Drop(StatementBase):
    """``what`` is STREAM or TABLE."""

    what: str
    name: str
    if_exists: bool = False


Statement = (
    CreateStream
    | CreateStreamAs
    | CreateTable
    | CreateTableAs
    | CreateFunction
    | InsertInto
    | SelectStatement
    | Explain
    | Show
    | Describe
    | Drop
)


@dataclass(frozen=True)
class Script:
    """A parsed file: its statements and the text that their spans point into."""

    statements: tuple[Statement, ...]
    source: SourceText
