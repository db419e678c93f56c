"""The stages of a plan: what the engine executes and what EXPLAIN prints, one and the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum

from windrow.aggregates import takes_whole_rows
from windrow.model.constraint import Constraint
from windrow.model.expr import Asked, Call, Expr, Over, SortKey
from windrow.model.lateness import over_at
from windrow.model.notes import Alert, LetterRule, Metric
from windrow.model.policies import FieldPolicy, MissingTableRow, RowPolicy
from windrow.model.query import Query
from windrow.model.row_limits import StreamLimits
from windrow.model.types import ColumnDef, DataType
from windrow.model.window import DeadLetterLate, DropLate, LateStrategy
from windrow.model.window_kinds import WindowKind
from windrow.model.zone import UTC
from windrow.plan.outages import OutageRule
from windrow.plan.stream_joins import AsofJoin, WindowJoin
from windrow.plan.time_rules import ClockRule, TimeRule, TimeSpec
from windrow.plan.window_cut import WindowCut
from windrow.windowing.emit_policy import EmitPolicy


@dataclass(frozen=True)
class Read:
    """Rows come in from outside: decoded, stamped with event time, bad ones set aside."""

    name: str
    connector: str
    columns: tuple[ColumnDef, ...]
    options: tuple[tuple[str, str], ...]
    time: TimeRule
    clock: ClockRule
    bad_rows: RowPolicy = RowPolicy.DEAD_LETTER
    bad_fields: FieldPolicy = FieldPolicy.NULL
    time_zone: str = UTC
    reason: str = ""
    # Where rows are text, these columns alone are decoded: nobody asks for the others but in rows that are set aside.
    projected_columns: tuple[str, ...] | None = None
    # What is expected of each row. It may change while the state stays.
    constraints: tuple[Constraint, ...] = field(default=(), repr=False)

    @property
    def inputs(self) -> tuple[str, ...]:
        return ()

    @property
    def decoded(self) -> tuple[ColumnDef, ...]:
        """What every row has."""
        return (
            self.columns
            if self.projected_columns is None
            else tuple(column for column in self.columns if column.name in self.projected_columns)
        )


@dataclass(frozen=True)
class Item:
    """One output column: its name and the expression that gives it (None: every column of the input)."""

    name: str
    expr: Expr | None


@dataclass(frozen=True)
class HeaderChange:
    """SET_HEADER, or REMOVE_HEADER where ``value`` is None."""

    key: Expr
    value: Expr | None


@dataclass(frozen=True)
class Output:
    """What a query makes of each of its rows, and which of them go out, in which order."""

    items: tuple[Item, ...]
    key: Expr | None = None
    order_by: tuple[SortKey, ...] = ()
    limit: int | None = None
    headers: tuple[HeaderChange, ...] = ()

    def changed(self, change: Callable[[Expr], Expr]) -> Output:
        """The same, with each of its expressions changed."""

        def maybe(expr: Expr | None) -> Expr | None:
            return None if expr is None else change(expr)

        return replace(
            self,
            items=tuple(Item(item.name, maybe(item.expr)) for item in self.items),
            key=maybe(self.key),
            order_by=tuple(replace(key, expr=change(key.expr)) for key in self.order_by),
            headers=tuple(HeaderChange(change(each.key), maybe(each.value)) for each in self.headers),
        )


@dataclass(frozen=True)
class FilterProject:
    """Filter and project, row by row; nothing is remembered."""

    name: str
    input: str
    where: Expr | None
    output: Output
    is_strict: bool = False
    reason: str = ""
    # Items that are system columns of what goes out, and no part of its rows.
    beside: frozenset[str] = frozenset()

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.input,)


@dataclass(frozen=True)
class TableSubquery:
    """A subquery over tables; ``slot`` names the column that holds its answer."""

    slot: str
    asked: Asked
    tables: tuple[str, ...]


@dataclass(frozen=True)
class SubqueryLookup:
    """Each row with the answers of subqueries over tables in columns of their own; nothing is remembered."""

    name: str
    input: str
    subqueries: tuple[TableSubquery, ...]
    wait: int
    is_strict: bool = False
    reason: str = ""

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.input, *subquery_tables(self.subqueries))


@dataclass(frozen=True)
class Explode:
    """Each row becomes as many as a generator gives for it, with its ``columns`` beside those that it had."""

    name: str
    input: str
    # Spark's name of the generator, without _outer.
    generator: str
    args: tuple[Expr, ...]
    columns: tuple[str, ...]
    # A row for which there is nothing stays, with NULLs.
    is_outer: bool = False
    is_strict: bool = False
    reason: str = ""

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.input,)


def subquery_tables(subqueries: tuple[TableSubquery, ...]) -> tuple[str, ...]:
    """The tables that subqueries read, each once."""
    return tuple(dict.fromkeys(table for subquery in subqueries for table in subquery.tables))


class PartialShape(Enum):
    """The shape in which rows reach the step: what the executors make of a micro-batch before the driver sees it."""

    SLICES = "one partial per group and slice"
    WINDOWS = "one partial per group and window"
    RUNNING = "one running total per row and window"
    SINGLE = "one partial per row"


@dataclass(frozen=True)
class AggregateItem:
    """An aggregate call and the prefix of its part columns; ``slot`` names its finished value."""

    slot: str
    call: Call


@dataclass(frozen=True)
class Aggregate:
    """Group, slice and aggregate; merge into state; emit what is due."""

    name: str
    input: str
    where: Expr | None
    keys: tuple[tuple[str, Expr], ...]
    aggregates: tuple[AggregateItem, ...]
    window: WindowKind | None
    time: TimeSpec
    lateness: int
    late: LateStrategy
    emit_policy: EmitPolicy
    when: tuple[Expr, ...]
    partial_shape: PartialShape
    having: Expr | None
    output: Output
    ttl: int | None = None
    # Whether the source has headers at all: an emission then has those of its group's last row.
    keeps_headers: bool = False
    # Whether the event time of the last row is kept: there is no window to take it from, and someone reads the emissions.
    keeps_time: bool = False
    is_strict: bool = False
    # Subqueries that are asked about an emission.
    subqueries: tuple[TableSubquery, ...] = ()
    wait: int = 0
    # Each row is judged by the rows before it in its own partition, not by the watermark its batch started with.
    is_exact: bool = False
    # The least time of a joined row's parts, where it belongs only to windows that hold them all; None: its event time decides.
    since: Expr | None = None
    # The key that holds the start of the window, where a join has made the window.
    starts_at: str | None = None
    # Which of the windows it keeps, where it shares them with the stage of another text.
    cut: WindowCut | None = None
    reason: str = ""

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.input, *subquery_tables(self.subqueries))

    @property
    def statement(self) -> str:
        """Whose accounts it keeps."""
        return self.name if self.cut is None else self.cut.statement

    @property
    def late_stream(self) -> str | None:
        return self.late.into if isinstance(self.late, DeadLetterLate) else None


def holds_rows(stage: Aggregate) -> bool:
    """Whether its windows hold whole rows."""
    return any(takes_whole_rows(item.call) for item in stage.aggregates)


@dataclass(frozen=True)
class WindowRows:
    """The rows that the windows of ``input`` hold, each with the bounds of its window; ``of`` is where they came from.

    ``at_once``: an emission is one row, which has just come. Else it is all rows of a window that has closed, or that was corrected: then
    only those go out that had not before. ``kind`` tells whether a row can be of several windows.
    """

    name: str
    input: str
    of: str
    kind: WindowKind
    at_once: bool
    reason: str = ""

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.input,)


@dataclass(frozen=True)
class OverCalls:
    """OVER calls that look at the same rows: the last ``buffer`` of a partition (None: all there ever were)."""

    partition_by: tuple[Expr, ...]
    buffer: int | None
    calls: tuple[tuple[str, Over], ...]
    # The partition belongs to one window, whose groups come out together: its rows are compared with each other, and none is kept.
    is_at_once: bool = False


@dataclass(frozen=True)
class OverAggregate:
    """One output row per input row, from the rows of its partition that arrived before it."""

    name: str
    input: str
    where: Expr | None
    over_calls: tuple[OverCalls, ...]
    qualify: Expr | None
    output: Output
    is_strict: bool = False
    # Subqueries that are asked about a row with what its calls found.
    subqueries: tuple[TableSubquery, ...] = ()
    wait: int = 0
    reason: str = ""

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.input, *subquery_tables(self.subqueries))

    @property
    def keeps_rows(self) -> bool:
        return not all(group.is_at_once for group in self.over_calls)


@dataclass(frozen=True)
class LoadTable:
    """Reference data, loaded before the first row is read: the latest row per key (all rows where there is no key)."""

    name: str
    read: Read
    primary_key: tuple[str, ...]
    reason: str = ""
    # How often what has changed is loaded; None: only when the job starts. Another one leaves the state what it was.
    refresh: int | None = field(default=None, repr=False)
    # The column that says which change a row is, where rows are changes: a row that was deleted is none of the table.
    change: str | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class Side:
    """One input of a join. Its columns are called ``prefix.column`` from here on; None where they are already."""

    input: str
    prefix: str | None
    columns: tuple[ColumnDef, ...]
    # Columns that keys, times and ``where`` read of rows as they come, and that nobody reads later.
    compared: tuple[ColumnDef, ...] = ()
    # A filter that acts on the rows of this side before the join.
    where: Expr | None = None


@dataclass(frozen=True)
class TableRows:
    """A query over tables: what it reads has the names of tables, what it gives is called ``columns``, in order."""

    query: Query
    columns: tuple[str, ...]
    tables: tuple[str, ...]


@dataclass(frozen=True)
class NewestRow:
    """Of the rows of a table that agree in ``by`` and fulfil ``only``: the one with the latest ``since`` that is not after ``at``.

    With ``is_exclusive``, that is before it.
    """

    by: tuple[Expr, ...]
    since: Expr
    at: Expr
    is_exclusive: bool
    only: Expr | None = None


@dataclass(frozen=True)
class Lookup:
    """A table that rows are completed from. ``on_missing`` says what becomes of a row that finds nothing there."""

    table: Side
    on: Expr | None
    on_missing: MissingTableRow
    # Where the table is a query over tables.
    rows: TableRows | None = None
    # FOR SYSTEM_TIME AS OF: the version of the table's row that was in force then, by the event time of its rows.
    as_of: Expr | None = None
    # Columns that tell rows of the table apart where it has no key: rows that agree in them are versions of one.
    compared: tuple[str, ...] = ()
    # ASOF JOIN: of the rows that ``on`` finds, the newest that is not later.
    newest: NewestRow | None = None

    @property
    def asks_versions(self) -> bool:
        """Whether all rows of the table count, not only the latest of each key."""
        return self.as_of is not None or self.newest is not None

    @property
    def tables(self) -> tuple[str, ...]:
        """What must be at hand."""
        return (self.table.input,) if self.rows is None else self.rows.tables


@dataclass(frozen=True)
class LookupJoin:
    """Each row with the rows of tables that belong to it. ``retry_for``: a row that finds nothing is kept for so long, to look again."""

    name: str
    stream: Side
    lookups: tuple[Lookup, ...]
    wait: int
    is_strict: bool = False
    reason: str = ""
    retry_for: int | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.stream.input, *dict.fromkeys(table for lookup in self.lookups for table in lookup.tables))


@dataclass(frozen=True)
class JoinWindow:
    """Windows that two streams join inside of, and how long after its end a window takes rows.

    ``judges_first``: a row whose last window has closed for good is set aside before it can meet one that is still there.
    """

    size: int
    advance: int
    offset: int
    lateness: int
    judges_first: bool


@dataclass(frozen=True)
class IntervalJoin:
    """Pairs of rows of two streams with equal keys and ``low <= right time - left time <= high`` (microseconds)."""

    name: str
    left: Side
    right: Side
    keys: tuple[tuple[Expr, Expr], ...]
    times: tuple[Expr, Expr]
    low: int
    high: int
    residual: Expr | None
    keeps_left: bool
    keeps_right: bool
    # How much older than its event time a left row's time may be: it is part of a pair with a younger row.
    lag: int = 0
    is_strict: bool = False
    reason: str = ""
    # The windows that rows join inside of, if it is these that bound the join.
    inside: JoinWindow | None = None
    late: DeadLetterLate | DropLate = field(default_factory=DeadLetterLate)
    # Of each key, whether NULL is equal to NULL.
    nulls_meet: tuple[bool, ...] = ()
    # What the planner changed, for EXPLAIN.
    rewrites: tuple[str, ...] = field(default=(), repr=False)

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.left.input, self.right.input)))

    @property
    def kept_for(self) -> tuple[int, int]:
        """How long a left and a right row can find a partner: after their time, or after the start of their last window.

        A row with the watermark's own time is not late, so a row goes when the watermark is beyond all that it reaches.
        """
        if self.inside is not None:
            return (over_at(self.inside.size, self.inside.lateness),) * 2
        return self.high + 1, 1 - self.low

    @property
    def held_back(self) -> int:
        """How far behind the watermark an unmatched row may come out: what follows must wait as long."""
        left, right = self.kept_for
        return max([0, *[self.lag + left] * self.keeps_left, *[self.lag + right] * self.keeps_right])


@dataclass(frozen=True)
class LateRows:
    """The stream of rows that came too late for another statement's windows."""

    name: str
    of: str
    reason: str = ""

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.of,)


@dataclass(frozen=True)
class UnionAll:
    """UNION ALL: the rows of several inputs, matched by position under the names of the first (none where they are not known)."""

    name: str
    parts: tuple[str, ...]
    columns: tuple[str, ...]
    reason: str = ""

    @property
    def inputs(self) -> tuple[str, ...]:
        return self.parts


@dataclass(frozen=True)
class InsertInput:
    """One query that feeds a stream: for each column of the stream, the query's column that goes there (None: NULL)."""

    input: str
    columns: tuple[str | None, ...]


@dataclass(frozen=True)
class InsertUnion:
    """The rows of every statement that writes into one stream, in that stream's columns and types."""

    name: str
    inlets: tuple[InsertInput, ...]
    columns: tuple[ColumnDef, ...]
    time: TimeRule = field(default=TimeRule())
    is_strict: bool = False
    reason: str = ""

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(inlet.input for inlet in self.inlets)


@dataclass(frozen=True)
class Expect:
    """Rows of a query are judged by its constraints, one by one; nothing is remembered.

    What is expected may change while the state stays: it says nothing about the rows that were let through before.
    """

    name: str
    input: str
    columns: tuple[ColumnDef, ...]
    constraints: tuple[Constraint, ...] = field(default=(), repr=False)
    is_strict: bool = False
    reason: str = ""

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.input,)


@dataclass(frozen=True)
class UpsertTable:
    """A table that a query makes: the latest row per key. Its changes flow on, and joins look it up as it stands after them."""

    name: str
    input: str
    key: tuple[str, ...]
    columns: tuple[ColumnDef, ...]
    ttl: int | None = None
    reason: str = ""

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.input,)


@dataclass(frozen=True)
class Write:
    """Rows leave for a sink, idempotent by batch id."""

    input: str
    connector: str
    options: tuple[tuple[str, str], ...]
    reason: str = ""
    # What the rows have, as far as it is known before Spark analyses the query, and the columns that tell one from another. Both
    # follow from the query, so they are no part of what a state folder is recognised by.
    columns: tuple[ColumnDef, ...] = field(default=(), repr=False)
    key: tuple[str, ...] = field(default=(), repr=False)
    # What happens while the system is away, which may differ from one run to the next.
    outage: OutageRule = field(default=OutageRule(), repr=False)

    @property
    def name(self) -> str:
        return f"{self.input} -> {self.connector}"

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.input,)


StreamJoin = IntervalJoin | AsofJoin | WindowJoin

Stage = (
    Read
    | LoadTable
    | FilterProject
    | Explode
    | SubqueryLookup
    | Aggregate
    | WindowRows
    | OverAggregate
    | LookupJoin
    | IntervalJoin
    | AsofJoin
    | WindowJoin
    | LateRows
    | UnionAll
    | InsertUnion
    | Expect
    | UpsertTable
    | Write
)


@dataclass(frozen=True)
class PythonFunction:
    """A function of the user's own: ``target`` is ``module:function``, looked for in ``folder`` first.

    ``code`` is a name for what it is made of; empty where nothing of that is known.
    """

    name: str
    parameters: tuple[DataType, ...]
    returns: DataType
    target: str
    folder: str
    code: str = ""


@dataclass(frozen=True)
class Job:
    """A group of connected statements that run as one streaming query. Stages stand in the order they are executed."""

    name: str
    stages: tuple[Stage, ...]
    reason: str = ""
    # True where time must go on even when no row arrives: idle timeouts, interval triggers.
    needs_ticks: bool = False
    # Every function that the file creates: a job may call any of them.
    functions: tuple[PythonFunction, ...] = ()
    # By the stage whose rows they are about. No part of what the job computes, so they may change while it has state.
    metrics: tuple[tuple[str, Metric], ...] = ()
    # Over dead letters, by the source or the query that they stand with. Like metrics, they may change while the job has state.
    letter_rules: tuple[tuple[str, LetterRule], ...] = ()
    # How many bad, late and violating rows may come. They may change while the state stays.
    limits: tuple[StreamLimits, ...] = ()

    @property
    def reads(self) -> tuple[Read, ...]:
        return tuple(stage for stage in self.stages if isinstance(stage, Read))

    @property
    def time_zone(self) -> str:
        """That of the file, which its sources have."""
        return next((read.time_zone for read in self.reads), UTC)

    @property
    def tables(self) -> tuple[LoadTable, ...]:
        return tuple(stage for stage in self.stages if isinstance(stage, LoadTable))

    @property
    def writes(self) -> tuple[Write, ...]:
        return tuple(stage for stage in self.stages if isinstance(stage, Write))

    def readers_of(self, name: str) -> tuple[Stage, ...]:
        return tuple(stage for stage in self.stages if name in stage.inputs and not isinstance(stage, Write | LateRows))

    def stage(self, name: str) -> Stage:
        return next(stage for stage in self.stages if stage.name == name)


@dataclass(frozen=True)
class Plan:
    jobs: tuple[Job, ...]
    annotations: tuple[tuple[str, str], ...] = field(default=())
    # By the name of the statement whose rows they are about.
    metrics: tuple[tuple[str, Metric], ...] = field(default=())
    alerts: tuple[Alert, ...] = field(default=())
    # What the file calls itself; None for a text that is no file.
    file: str | None = None

    def __iter__(self) -> Iterator[Job]:
        return iter(self.jobs)


def row_inputs(stage: Stage) -> tuple[str, ...]:
    """Whose rows a stage takes. Tables that are looked up bring none; those of a stream that is joined with itself come to both sides."""
    if isinstance(stage, LookupJoin | SubqueryLookup):
        return stage.inputs[:1]
    return (stage.left.input, stage.right.input) if isinstance(stage, StreamJoin) else stage.inputs


def counts_answers(stage: Stage) -> bool:
    """Whether answers are counted: of a row that waits once it has one, of one that finds several rows of a query one each."""
    if isinstance(stage, LookupJoin):
        return stage.retry_for is not None or any(lookup.rows is not None for lookup in stage.lookups)
    return isinstance(stage, AsofJoin)
