"""From statements to jobs: flatten queries into stages, then group what is connected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from itertools import chain, count
from typing import TypeVar

from windrow.catalog import Catalog, Relation, keys
from windrow.catalog.asof import event_time_field
from windrow.catalog.binding import bind_select
from windrow.catalog.inserting import inserts_of, value_columns, with_distinct_names
from windrow.catalog.lifetimes import lifetimes
from windrow.catalog.options import BARE_SINK
from windrow.catalog.relation import WithCommonTables
from windrow.catalog.scope import Binding
from windrow.catalog.typing import binding_of, output_columns, query_relation
from windrow.connectors.registry import CONNECTORS
from windrow.model.expr import Column, Star
from windrow.model.notes import LetterRule, Metric
from windrow.model.options import Options
from windrow.model.query import CommonTable, DerivedSource, NamedSource, Query, Select, SelectItem, Source, Union
from windrow.model.statement import (
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateTableAs,
    InsertInto,
    Script,
    SelectStatement,
    Statement,
)
from windrow.model.system import system_column
from windrow.model.types import ColumnDef
from windrow.plan.called_functions import called_functions
from windrow.plan.expectations import before_expectations, bound_constraints, plan_expectations
from windrow.plan.exploding import plan_views, views_of
from windrow.plan.job_grouping import group_jobs
from windrow.plan.job_names import file_name, name_jobs
from windrow.plan.join_names import JoinInput
from windrow.plan.joining import Joined, plan_joins
from windrow.plan.other_outputs import with_other_outputs
from windrow.plan.outages import outage_rule
from windrow.plan.rewrites import SelectContext, rewrite_plan, rewrite_select, rewrite_selected
from windrow.plan.row_limits import with_limits
from windrow.plan.selects import Selected, plan_select
from windrow.plan.sources import duration_option, is_strict, plan_source, plan_table, table_wait
from windrow.plan.stages import (
    Aggregate,
    InsertInput,
    InsertUnion,
    Job,
    LateRows,
    Plan,
    Stage,
    TableRows,
    UnionAll,
    UpsertTable,
    WindowRows,
    Write,
)
from windrow.plan.subqueries import TableQuery, answer_first, spell_out
from windrow.plan.time_rules import TimeRule
from windrow.plan.window_times import WindowTimes, window_times

CONSOLE_NAME = "out"
_Named = CreateStream | CreateStreamAs | CreateTable | CreateTableAs
_Note = TypeVar("_Note", Metric, LetterRule)


def plan_script(script: Script, catalog: Catalog, bare_sink: str = BARE_SINK, folder: str = ".") -> Plan:
    """The plan of a checked file. ``bare_sink`` is where a bare SELECT goes, ``folder`` where the file's Python functions are.

    Statements may stand in any order: stages are put into the order in which rows flow.
    """
    annotations = tuple((a.key, a.value) for s in script.statements for a in s.annotations)
    file = file_name(script)
    jobs = with_limits(_jobs_with_functions(script, _stages(script, catalog, bare_sink), folder), script, bare_names(script))
    jobs = name_jobs(jobs, file)
    measured = tuple(_measured_stages(script))
    rules = tuple((name, rule) for name, each in _named(script) for rule in each.notes.letter_rules)
    jobs = tuple(replace(job, metrics=_of_stages(job, measured), letter_rules=_of_stages(job, rules)) for job in jobs)
    alerts = tuple(alert for statement in lifetimes(script).current for alert in statement.notes.alerts)
    return Plan(jobs, annotations, tuple(_metrics(script)), alerts, file)


def _measured_stages(script: Script) -> Iterable[tuple[str, Metric]]:
    """Metrics by the stage that puts the rows out: each INSERT has one of its own."""
    bare, numbers = iter(bare_names(script)), Counter[str]()
    for statement in lifetimes(script).current:
        name = next(bare) if isinstance(statement, SelectStatement) else getattr(statement, "name", "")
        if isinstance(statement, InsertInto):
            numbers[name.lower()] += 1
            name = f"{name}/insert{numbers[name.lower()]}"
        yield from ((name, metric) for metric in statement.notes.metrics)


def _of_stages(job: Job, notes: Iterable[tuple[str, _Note]]) -> tuple[tuple[str, _Note], ...]:
    """What is said of the stages of one job, each by the name of its stage."""
    spelling = {stage.name.lower(): stage.name for stage in job.stages}
    return tuple((spelling[name.lower()], note) for name, note in notes if name.lower() in spelling)


def _metrics(script: Script) -> Iterable[tuple[str, Metric]]:
    return ((name, metric) for name, statement in _named(script) for metric in statement.notes.metrics)


def _named(script: Script) -> Iterable[tuple[str, Statement]]:
    bare = iter(bare_names(script))
    for statement in lifetimes(script).current:
        yield next(bare) if isinstance(statement, SelectStatement) else getattr(statement, "name", ""), statement


def _jobs_with_functions(script: Script, stages: dict[str, Stage], folder: str) -> tuple[Job, ...]:
    callable_ones = called_functions(script, folder)
    return tuple(replace(job, functions=callable_ones) for job in group_jobs(stages))


def plan_part(script: Script, catalog: Catalog, name: str, folder: str = ".") -> Plan:
    """The plan of one statement by its name, with everything it reads and nothing else."""
    stages = _stages(script, catalog, BARE_SINK)
    wanted: dict[str, Stage] = {}
    open_names = [stage.name for stage in stages.values() if stage.name.lower() == name.lower()]
    while open_names:
        stage = stages.get(open_names.pop())
        if stage is not None and stage.name not in wanted:
            wanted[stage.name] = stage
            open_names.extend(stage.inputs)
    writes = {key: stage for key, stage in stages.items() if isinstance(stage, Write) and stage.input.lower() == name.lower()}
    return Plan(_jobs_with_functions(script, {key: stage for key, stage in stages.items() if key in wanted or key in writes}, folder))


def _stages(script: Script, catalog: Catalog, bare_sink: str) -> dict[str, Stage]:
    script = replace(script, statements=lifetimes(script).current)
    names = _Names(script, catalog)
    stages: dict[str, Stage] = {}
    inserts: dict[str, list[InsertInto]] = {}
    for insert in inserts_of(script.statements):
        inserts.setdefault(insert.name.lower(), []).append(insert)
    for statement in script.statements:
        fed_by = inserts.get(statement.name.lower(), []) if isinstance(statement, _Named) else []
        planned = _plan_target(statement, fed_by, names) if fed_by else _plan_statement(statement, names, bare_sink)
        for stage in planned:
            stages[stage.name] = stage
    return with_other_outputs(rewrite_plan(stages, script))


class _Names:
    """Relations by name, case-insensitively, under the spelling they were created with."""

    def __init__(self, script: Script, catalog: Catalog) -> None:
        self._spelling: dict[str, str] = {}
        self._catalog = catalog
        self._common: dict[str, Relation] = {}
        self._common_queries: dict[str, tuple[Query, dict[str, str]]] = {}
        self._table_queries: dict[str, TableQuery] = {}
        self._bare = iter(bare_names(script))
        for statement in script.statements:
            if isinstance(statement, _Named):
                self._spelling[statement.name.lower()] = statement.name

    def of(self, name: str) -> str:
        return self._spelling.get(name.lower(), name)

    def note_common(self, stage: str, table: CommonTable, scope: dict[str, str]) -> Relation:
        names = self.typed(scope)
        found = self._common[stage] = query_relation(table.name, table.query, names)
        self._common_queries[stage] = (table.query, dict(scope))
        if found.kind == "table":
            self._table_queries[stage] = TableQuery(table.query, names)
        return found

    def window_times(self, scope: dict[str, str], name: str) -> WindowTimes:
        """The bounds of windows among the columns of a stream or common table."""
        stage = scope.get(name.lower())
        if stage is not None:
            query, around = self._common_queries[stage]
            return window_times(query, partial(self.window_times, around))
        relation = self._catalog.relation(name)
        made = None if relation is None else relation.defined_by
        return window_times(made.query, partial(self.window_times, {})) if isinstance(made, CreateStreamAs) else {}

    def table_queries(self, scope: dict[str, str]) -> dict[str, TableQuery]:
        """The common tables of a scope that read tables only: subqueries may ask them."""
        return {name: self._table_queries[stage] for name, stage in scope.items() if stage in self._table_queries}

    def typed(self, scope: dict[str, str]) -> WithCommonTables:
        """What names mean under the common tables of a scope, with the types of their columns."""
        return WithCommonTables(self._catalog, tuple(self._common[stage] for stage in scope.values()))

    def bare(self) -> str:
        return next(self._bare)


def bare_names(script: Script) -> list[str]:
    """What the outputs of the bare SELECTs of a script are called, in order: out, out_2, ..., without the names that streams have."""
    taken = {s.name.lower() for s in script.statements if isinstance(s, _Named)}
    free = (name for name in chain([CONSOLE_NAME], (f"{CONSOLE_NAME}_{n}" for n in count(2))) if name not in taken)
    return [name for _, name in zip((s for s in script.statements if isinstance(s, SelectStatement)), free, strict=False)]


def _plan_statement(statement: Statement, names: _Names, bare_sink: str) -> Iterable[Stage]:
    match statement:
        case CreateStream(name=name, constraints=constraints, options=options):
            yield replace(plan_source(statement), constraints=bound_constraints(name, constraints, names.typed({}), options))
        case CreateTable():
            yield plan_table(statement)
        case CreateStreamAs(name=name, query=query, options=options):
            yield from _plan_query(_rows_of(statement), query, options, names, {})
            yield from _plan_expectations(statement, names)
            if options.get("connector"):
                yield _write(name, options, _shape(query, names))
        case CreateTableAs():
            yield from _plan_target(statement, [], names)
        case SelectStatement(query=query):
            name = names.bare()
            options = query.options if isinstance(query, Select) else Options()
            yield from _plan_query(name, query, options, names, {})
            yield _write(name, options, _shape(query, names), bare_sink)
        case _:
            return


def _plan_target(statement: Statement, inserts: list[InsertInto], names: _Names) -> Iterable[Stage]:
    """A stream or table that several statements may write into."""
    assert isinstance(statement, CreateStream | CreateStreamAs | CreateTableAs)
    name, options = statement.name, statement.options
    columns = names.typed({}).relation(name).columns  # type: ignore[union-attr]  # it is defined by this very statement
    key: tuple[str, ...] | None = ()
    if not isinstance(statement, CreateTableAs):
        yield from _plan_writers(_rows_of(statement), statement, inserts, columns, names)
        yield from _plan_expectations(statement, names)
    else:
        rows = f"{name}/rows"
        yield from _plan_writers(rows, statement, inserts, columns, names)
        key = keys.table_key(statement.query, names.typed({}))
        assert key is not None, "a table without a key passed the checks"
        ttl = duration_option(options, "state.ttl", None)
        yield UpsertTable(name, rows, key, columns, ttl, f"a table is the latest row per {', '.join(key)}" if key else "there is one group")
    if options.get("connector"):
        yield _write(name, options, (columns, key or ()))


def _rows_of(statement: CreateStream | CreateStreamAs) -> str:
    """What the stage that gives the rows of a stream is called: its constraints have still to judge them."""
    return before_expectations(statement.name) if statement.constraints else statement.name


def _plan_expectations(statement: CreateStream | CreateStreamAs, names: _Names) -> Iterable[Stage]:
    if statement.constraints:
        typed = names.typed({})
        columns = typed.relation(statement.name).columns  # type: ignore[union-attr]  # it is defined by this very statement
        rows = _rows_of(statement)
        yield plan_expectations(statement.name, rows, statement.constraints, columns, typed, statement.options)


def _shape(query: Query, names: _Names) -> tuple[tuple[ColumnDef, ...], tuple[str, ...]]:
    """What a query writes: its visible columns, and those of its key."""
    return value_columns(query, names.typed({})) or (), keys.written_key(query, names.typed({}))


def _plan_writers(
    name: str,
    statement: CreateStream | CreateStreamAs | CreateTableAs,
    inserts: list[InsertInto],
    columns: tuple[ColumnDef, ...],
    names: _Names,
) -> Iterable[Stage]:
    """Each writer is planned by itself, and their rows come together in the columns of what they write into."""
    options = statement.options
    if not inserts and not isinstance(statement, CreateStream):
        yield from _plan_query(name, statement.query, options, names, {})
        return
    inlets: list[InsertInput] = []
    if not isinstance(statement, CreateStream):
        yield from _plan_query(f"{name}/query", statement.query, options, names, {})
        inlets.append(InsertInput(f"{name}/query", tuple(column.name for column in columns)))
    for number, insert in enumerate(inserts, 1):
        inner = f"{name}/insert{number}"
        insert = replace(insert, query=with_distinct_names(insert.query, names.typed({})))
        yield from _plan_query(inner, insert.query, options, names, {})
        inlets.append(_inlet(inner, insert, columns, names))
    reason = f"{len(inlets)} statements write into it" if len(inlets) > 1 else "INSERT INTO writes into it"
    time = TimeRule(options.get("event.time.field"), options.get("event.time.format"))
    yield InsertUnion(name, tuple(inlets), columns, time, is_strict(options), reason)


def _inlet(stage: str, insert: InsertInto, columns: tuple[ColumnDef, ...], names: _Names) -> InsertInput:
    values = [value.name for value in value_columns(insert.query, names.typed({})) or ()]
    listed = [column.name.lower() for column in insert.columns] or [column.name.lower() for column in columns]
    taken: dict[str, str] = dict(zip(listed, values, strict=True))
    return InsertInput(stage, tuple(taken.get(column.name.lower()) for column in columns))


def _write(name: str, options: Options, shape: tuple[tuple[ColumnDef, ...], tuple[str, ...]], default: str = BARE_SINK) -> Write:
    connector = (options.get("connector") or default).lower()
    spec = CONNECTORS[connector]
    values: dict[str, str] = {option.key: option.default for option in spec.sink or () if option.default is not None}
    known = {option.key.lower() for option in spec.sink or ()}
    prefixes = tuple(key.removesuffix("*") for key in known if key.endswith(".*"))
    for option in options:
        named = option.key.lower()
        if named in known or (prefixes and named.startswith(prefixes)):
            values[named] = option.value
    reason = "named in WITH" if options.get("connector") else "a bare SELECT prints"
    columns, key = shape
    return Write(name, connector, tuple(sorted(values.items())), reason, columns, key, outage_rule(options))


def _plan_query(name: str, query: Query, options: Options, names: _Names, scope: dict[str, str]) -> Iterable[Stage]:
    """Stages for a query and everything nested in it; the last one is called ``name``."""
    scope = dict(scope)
    for table in query.ctes:
        yield from _plan_common_table(name, table, options, names, scope)
    match query:
        case Union():
            yield from _plan_union(name, query, options, names, scope)
        case Select(source=source, joins=joins):
            typed = names.typed(scope)
            query = rewrite_select(query, SelectContext(typed, names.table_queries(scope), is_strict(options)))
            views = views_of(query, typed)
            joined: Joined | None = None
            if joins:
                inputs, nested = _resolve_inputs(name, query, options, names, scope)
                yield from nested
                given = tuple(view.given for view in views)
                joined = plan_joins(name, bind_select(query, typed, (*inputs, *given)), options, inputs, given)
                yield from joined.stages
                query, input_name = joined.select, joined.output
            else:
                input_name, nested = _resolve_source(name, source, options, names, scope)
                yield from nested
                query = bind_select(query, typed)
            for exploded in plan_views(name, query, views, input_name, is_strict(options), is_joined=bool(joins)):
                yield exploded
                input_name = exploded.name
            for stage in plan_select(name, query, options, input_name):
                yield from _finished(rewrite_selected(stage, joined), options, names)


def _finished(stage: Selected, options: Options, names: _Names) -> Iterable[Stage]:
    """A stage of a SELECT with what is asked of tables before it, and the stream of its late rows after it."""
    if isinstance(stage, WindowRows):
        yield stage
        return
    answer, asking = answer_first(stage, table_wait(options))
    if answer is not None:
        yield answer
    yield asking
    if isinstance(asking, Aggregate) and asking.late_stream:
        yield LateRows(names.of(asking.late_stream), asking.name, reason="LATE_DATA_STRATEGY DEAD_LETTER INTO")


def _plan_union(name: str, union: Union, options: Options, names: _Names, scope: dict[str, str]) -> Iterable[Stage]:
    """All rows of both sides; without ALL, the first of equal ones, as DISTINCT would have it."""
    parts = (f"{name}/1", f"{name}/2")
    left = union.left
    if not union.is_all and isinstance(left, Union) and not left.ctes:
        # What is made distinct at the end need not be so before.
        left = replace(left, is_all=True)
    yield from _plan_query(parts[0], left, options, names, scope)
    yield from _plan_query(parts[1], union.right, options, names, scope)
    columns = tuple(c.name for c in output_columns(union, names.typed(scope)) or () if system_column(c.name) is None)
    if union.is_all:
        yield UnionAll(name, parts, columns, reason="UNION ALL")
        return
    merged = f"{name}/all"
    yield UnionAll(merged, parts, columns, reason="the rows of both sides, of which equal ones come out once")
    distinct = Select(tuple(SelectItem(Column(column.lower()), column) for column in columns), is_distinct=True)
    yield from plan_select(name, distinct, options, merged)


def _plan_common_table(name: str, table: CommonTable, options: Options, names: _Names, scope: dict[str, str]) -> Iterable[Stage]:
    inner = f"{name}/{table.name}"
    if names.note_common(inner, table, scope).kind == "stream":
        yield from _plan_query(inner, table.query, options, names, scope)
    scope[table.name.lower()] = inner


def _resolve_source(
    name: str, source: NamedSource | DerivedSource | None, options: Options, names: _Names, scope: dict[str, str]
) -> tuple[str, Iterable[Stage]]:
    match source:
        case NamedSource(name=wanted):
            return scope.get(wanted.lower(), names.of(wanted)), ()
        case DerivedSource(query=query, alias=alias):
            inner = f"{name}/{alias or 'from'}"
            return inner, _plan_query(inner, query, options, names, scope)
        case None:
            raise AssertionError("a SELECT without FROM passed the checks")


def _resolve_inputs(
    name: str, select: Select, options: Options, names: _Names, scope: dict[str, str]
) -> tuple[tuple[JoinInput, ...], Iterable[Stage]]:
    """Everything that a FROM with joins brings in, and the stages of the queries nested there."""
    inputs: list[JoinInput] = []
    stages: list[Stage] = []
    for position, source in enumerate((select.source, *(join.source for join in select.joins))):
        assert source is not None, "a JOIN has something before it"
        if isinstance(source, DerivedSource) and source.alias is None:
            source = replace(source, alias=f"from{position}")
        binding = binding_of(source, names.typed(scope))
        rows = _table_rows(source, binding, names, scope)
        if rows is None:
            stage, nested = _resolve_source(name, source, options, names, scope)
            stages.extend(nested)
        else:
            stage = source.name if isinstance(source, NamedSource) else binding.name
        time_field = event_time_field(names.typed(scope).relation(source.name)) if isinstance(source, NamedSource) else None
        times = window_times(Select((SelectItem(Star()),), source), partial(names.window_times, scope))
        inputs.append(replace(JoinInput.of(binding, stage, position, rows), time_field=time_field, window_times=times))
    return tuple(inputs), stages


def _table_rows(source: Source, binding: Binding, names: _Names, scope: dict[str, str]) -> TableRows | None:
    """What a query over tables gives, where the source is one: such a query is asked, not planned."""
    if binding.kind != "table":
        return None
    common = names.table_queries(scope)
    if isinstance(source, DerivedSource):
        return spell_out(TableQuery(source.query, names.typed(scope)), common)
    asked = common.get(source.name.lower())
    return None if asked is None else spell_out(asked, {name: each for name, each in common.items() if each != asked})
