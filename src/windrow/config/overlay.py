"""What an environment makes of the statements of a file: options, windows, triggers.

What names a stream, an output or a window goes before the text of the file. What names none fills in where the file says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from windrow.catalog.inserting import inserts_of
from windrow.catalog.options import options_for_sink, options_for_source, options_for_table, options_for_target
from windrow.check.blocks import query_of
from windrow.config import codes
from windrow.config.environments import Environment, Value
from windrow.config.keys import WATERMARK, known_spec
from windrow.connectors.spec import OptionSpec
from windrow.errors import Diagnostic
from windrow.model.options import Option, Options
from windrow.model.place import Span
from windrow.model.query import DerivedSource, NamedSource, Query, Select, Source, Union, selects_of
from windrow.model.statement import CreateStream, CreateStreamAs, CreateTable, CreateTableAs, InsertInto, Script, SelectStatement, Statement
from windrow.model.window import BoundedOutOfOrderness, WindowClause
from windrow.sql import parse_duration, parse_triggers
from windrow.sql.durations import show_duration

_CONNECTOR = "connector"
_FIELDS = {"size": "size", "advance": "advance", "step": "step", "gap": "gap", "max_duration": "max_length"}
Known = Callable[[str | None], tuple[OptionSpec, ...]]


@dataclass
class Overlaid:
    """A script as an environment has it, and what was wrong with that. ``used`` are the names of the environment that it has."""

    script: Script
    faults: list[Diagnostic] = field(default_factory=list)
    used: set[str] = field(default_factory=set)


def overlay(script: Script, environment: Environment, at: int) -> Overlaid:
    """``at`` is where windrow.yaml begins in the text that places count through."""
    done = _Overlay(environment, at, frozenset(insert.name.lower() for insert in inserts_of(script.statements)))
    changed = replace(script, statements=tuple(done.statement(one) for one in script.statements))
    return Overlaid(changed, done.faults, done.used)


def names_of(script: Script) -> dict[str, set[str]]:
    """What a file has that an environment may name, in lower case: its streams, its outputs, and what ``windows`` can name."""
    targets = {insert.name.lower() for insert in inserts_of(script.statements)}
    streams = {s.name.lower() for s in script.statements if isinstance(s, CreateStream | CreateTable)} - targets
    sinks = {s.name.lower() for s in script.statements if isinstance(s, CreateStreamAs | CreateTableAs | InsertInto)} | targets
    read = {name for s in script.statements if (query := query_of(s)) is not None for name in _read_names(query)}
    return {"streams": streams, "sinks": sinks, "windows": sinks | read}


def _read_names(query: Query) -> Iterator[str]:
    for select in selects_of(query):
        yield from _sources(select)


def _sources(select: Select) -> list[str]:
    sources = (select.source, *(join.source for join in select.joins))
    return [source.name.lower() for source in sources if isinstance(source, NamedSource)]


class _Overlay:
    def __init__(self, environment: Environment, at: int, targets: frozenset[str]) -> None:
        self._environment = environment
        self._at = at
        self._targets = targets
        self._named = {head: _by_name(environment.names_under(head)) for head in ("streams", "sinks", "windows", "connectors")}
        self.faults: list[Diagnostic] = []
        self.used: set[str] = set()

    def statement(self, statement: Statement) -> Statement:
        match statement:
            case CreateStream(name=name, options=options) if name.lower() in self._targets:
                return replace(statement, options=self._written(name, options, options_for_target))
            case CreateStream(name=name, options=options):
                return replace(statement, options=self._read(name, options, options_for_source, has_clock=True))
            case CreateTable(name=name, options=options):
                return replace(statement, options=self._read(name, options, options_for_table, has_clock=False))
            case CreateStreamAs(name=name) | CreateTableAs(name=name):
                return self._with_output(replace(statement, query=self._query(statement.query, name)), name)
            case InsertInto():
                return replace(statement, query=self._query(statement.query, statement.name))
            case SelectStatement():
                return replace(statement, query=self._query(statement.query, ""))
            case _:
                return statement

    def _with_output(self, statement: CreateStreamAs | CreateTableAs, name: str) -> Statement:
        query = statement.query
        if isinstance(query, Select) and query.options and not statement.options:
            # WITH may stand at the end of the query: the text is the same.
            return replace(statement, query=replace(query, options=self._written(name, query.options, options_for_sink)))
        return replace(statement, options=self._written(name, statement.options, options_for_sink))

    def _read(self, name: str, options: Options, known: Known, *, has_clock: bool) -> Options:
        changed = self._replaced("streams", name, options, known)
        clock = self._environment.under("watermark") if has_clock else {}
        return self._filled(changed, known, {WATERMARK + key: value for key, value in clock.items()})

    def _written(self, name: str, options: Options, known: Known) -> Options:
        return self._filled(self._replaced("sinks", name, options, known), known, {})

    def _replaced(self, head: str, name: str, options: Options, known: Known) -> Options:
        """With another connector, the options that only the one before had fall away."""
        values = self._named[head].get(name.lower(), [])
        if not values:
            return options
        self.used.add(f"{head}.{name.lower()}")
        connector = next((value for value in values if value.path[-1].lower() == _CONNECTOR), None)
        entries = list(options)
        if connector is not None:
            specs = known(connector.text)
            entries = [entry for entry in entries if known_spec(specs, entry.key) is not None]
            values = [value for value in values if value.rank >= connector.rank or known_spec(specs, value.path[-1]) is not None]
        given = {value.path[-1].lower() for value in values}
        kept = tuple(entry for entry in entries if entry.key.lower() not in given)
        return replace(options, entries=(*kept, *(self._option(value.path[-1], value) for value in values)))

    def _filled(self, options: Options, known: Known, clock: Mapping[str, Value]) -> Options:
        connector = options.get(_CONNECTOR)
        specs = known(connector)
        own = {value.path[-1]: value for value in self._named["connectors"].get((connector or "").lower(), [])}
        wanted = {key: value for key, value in {**clock, **own}.items() if known_spec(specs, key) is not None and options.find(key) is None}
        return replace(options, entries=(*options.entries, *(self._option(key, value) for key, value in wanted.items())))

    def _option(self, key: str, value: Value) -> Option:
        return Option(key, value.text, self._place(value.span), span=self._place(value.key_span))

    def _place(self, span: Span) -> Span:
        return Span(span.start + self._at, span.end + self._at)

    def _query(self, query: Query, name: str) -> Query:
        ctes = tuple(replace(table, query=self._query(table.query, name)) for table in query.ctes)
        if isinstance(query, Union):
            return replace(query, left=self._query(query.left, name), right=self._query(query.right, name), ctes=ctes)
        source = None if query.source is None else self._source(query.source, name)
        joins = tuple(replace(join, source=self._source(join.source, name)) for join in query.joins)
        window = None if query.window is None else self._window(query.window, [name.lower(), *_sources(query)])
        return replace(query, ctes=ctes, source=source, joins=joins, window=window)

    def _source(self, source: Source, name: str) -> Source:
        return replace(source, query=self._query(source.query, name)) if isinstance(source, DerivedSource) else source

    def _window(self, window: WindowClause, names: Iterable[str]) -> WindowClause:
        """The name of the query goes before those of the streams that it reads."""
        values: dict[str, Value] = {}
        for name in names:
            for value in self._named["windows"].get(name, []):
                self.used.add(f"windows.{name}")
                values.setdefault(value.path[-1], value)
        for key in ("lateness", "trigger"):
            general = self._environment.values.get((key,))
            is_said = window.allowed_lateness is not None if key == "lateness" else bool(window.triggers)
            if general is not None and not is_said:
                values.setdefault(key, general)
        changes: dict[str, Any] = {}
        if "lateness" in values:
            changes["allowed_lateness"] = parse_duration(values["lateness"].text)
        if "delay" in values:
            changes["watermark"] = BoundedOutOfOrderness(parse_duration(values["delay"].text) or 0, span=self._place(values["delay"].span))
        if "trigger" in values:
            changes["triggers"] = self._triggers(values["trigger"])
        lengths = {key: value for key, value in values.items() if key in _FIELDS}
        return replace(self._with_lengths(window, lengths), **changes)

    def _triggers(self, value: Value) -> tuple[Any, ...]:
        found = parse_triggers(value.text, value.span.start + self._at)
        if isinstance(found, Diagnostic):
            # It was sound before its placeholders had values.
            self.faults.append(replace(found, span=self._place(value.span)))
            return ()
        return found

    def _with_lengths(self, window: WindowClause, lengths: Mapping[str, Value]) -> WindowClause:
        kind: Any = window.kind
        has = [key for key, name in _FIELDS.items() if hasattr(kind, name)]
        for key, value in lengths.items():
            if key not in has:
                message = f"a {kind.word} window has no {key}"
                hint = f"it has: {', '.join(has)}" if has else "the query says how many rows it holds"
                self.faults.append(Diagnostic(codes.NO_SUCH_LENGTH, message, self._place(value.key_span), hint))
                continue
            kind = replace(kind, **{_FIELDS[key]: parse_duration(value.text)})
        if lengths and kind is not window.kind:
            place = self._place(next(iter(lengths.values())).span)
            self.faults.extend(Diagnostic(codes.NO_SUCH_LENGTH, fault.message, place, fault.hint) for fault in kind.faults(show_duration))
        return replace(window, kind=kind)


def _by_name(values: Mapping[str, list[Value]]) -> dict[str, list[Value]]:
    found: dict[str, list[Value]] = {}
    for name, own in values.items():
        found.setdefault(name.lower(), []).extend(own)
    return found
