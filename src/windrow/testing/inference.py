"""Streams that a case's SQL reads but does not create: their columns are read off the rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from windrow.catalog.inserting import inserts_of
from windrow.catalog.options import options_for_source
from windrow.check.blocks import query_of
from windrow.connectors.memory.runtime import RESERVED
from windrow.model.expr import walk
from windrow.model.options import Option, Options
from windrow.model.query import NamedSource, Query, selects_of
from windrow.model.statement import CreateStream, CreateStreamAs, CreateTable, CreateTableAs, Script, Statement
from windrow.model.types import BIGINT, BOOLEAN, DOUBLE, STRING, UNKNOWN, Array, ColumnDef, DataType, Struct
from windrow.model.window import DeadLetterLate
from windrow.testing.case import MARKERS

# How rows come from where they are otherwise.
_BROUGHT_BY = ("connector", "format")


def created_names(script: Script) -> set[str]:
    """Names that the SQL itself defines, in lower case; those of late rows too."""
    names = {s.name.lower() for s in script.statements if isinstance(s, CreateStream | CreateStreamAs | CreateTable | CreateTableAs)}
    for query in _queries(script):
        for select in selects_of(query):
            if select.window is not None and isinstance(select.window.late, DeadLetterLate) and select.window.late.into:
                names.add(select.window.late.into.lower())
            names.update(table.name.lower() for table in select.ctes)
    return names


def memory_sources(script: Script) -> list[str]:
    """Streams that take their rows from the case: those that the SQL itself fills do not."""
    filled = {insert.name.lower() for insert in inserts_of(script.statements)}
    streams = (s for s in script.statements if isinstance(s, CreateStream) and s.name.lower() not in filled)
    return [stream.name for stream in streams if (stream.options.get("connector") or "").lower() == "memory"]


def from_case(script: Script) -> Script:
    """The statements with every source in memory: what else it says of its rows, such as the delay of its watermark, stays."""
    filled = {insert.name.lower() for insert in inserts_of(script.statements)}

    def moved(statement: Statement) -> Statement:
        if not isinstance(statement, CreateStream | CreateTable) or statement.name.lower() in filled:
            return statement
        known = options_for_source("memory")
        kept = (
            entry
            for entry in statement.options
            if any(spec.key == entry.key.lower() for spec in known) and entry.key.lower() not in _BROUGHT_BY
        )
        return replace(statement, options=Options((Option("connector", "memory"), *kept)))

    return replace(script, statements=tuple(moved(statement) for statement in script.statements))


def read_names(script: Script) -> list[str]:
    """Names that the SQL reads, in the order they stand, each once, as written."""
    found: dict[str, str] = {}
    for query in _queries(script):
        for name in _sources(query):
            found.setdefault(name.lower(), name)
    return list(found.values())


def _queries(script: Script) -> Iterable[Query]:
    queries = (query_of(statement) for statement in script.statements)
    return [query for query in queries if query is not None]


def _sources(query: Query) -> Iterable[str]:
    for select in selects_of(query):
        for source in (select.source, *(join.source for join in select.joins)):
            if isinstance(source, NamedSource):
                yield source.name
        yield from (node.name for node in walk(select) if isinstance(node, NamedSource))


def infer_columns(rows: Iterable[Mapping[str, Any]]) -> tuple[ColumnDef, ...]:
    """Columns in the order they first appear; a type that fits every row.

    >>> infer_columns([{"a": 1, "_ts": 5}, {"a": 2.5, "b": "x"}])[0]
    ColumnDef(name='a', type=Atomic(name='DOUBLE'), nullable=True)
    """
    types: dict[str, DataType] = {}
    for row in rows:
        for name, value in row.items():
            if name not in RESERVED and name not in MARKERS:
                types[name] = _wider(types.get(name, UNKNOWN), _type_of(value))
    return tuple(ColumnDef(name, type_ if type_ == UNKNOWN else _settled(type_)) for name, type_ in types.items())


def _settled(type_: DataType) -> DataType:
    """What no row tells more of is text."""
    match type_:
        case Array(element=element):
            return Array(_settled(element))
        case Struct(fields=fields):
            return Struct(tuple((name, _settled(field)) for name, field in fields))
        case _:
            return STRING if type_ == UNKNOWN else type_


def _type_of(value: Any) -> DataType:
    match value:
        case None:
            return UNKNOWN
        case bool():
            return BOOLEAN
        case int():
            return BIGINT
        case float():
            return DOUBLE
        case list():
            element: DataType = UNKNOWN
            for item in value:
                element = _wider(element, _type_of(item))
            return Array(element)
        case dict():
            return Struct(tuple((name, _type_of(field)) for name, field in value.items()))
        case _:
            return STRING


def _wider(one: DataType, other: DataType) -> DataType:
    if one in (UNKNOWN, other):
        return other
    if other == UNKNOWN:
        return one
    if {one, other} == {BIGINT, DOUBLE}:
        return DOUBLE
    if isinstance(one, Array) and isinstance(other, Array):
        return Array(_wider(one.element, other.element))
    if isinstance(one, Struct) and isinstance(other, Struct):
        merged = dict(one.fields)
        for name, type_ in other.fields:
            merged[name] = _wider(merged.get(name, UNKNOWN), type_)
        return Struct(tuple(merged.items()))
    return STRING


def memory_table(name: str, columns: tuple[ColumnDef, ...]) -> CreateTable:
    """Without a key: every row stays."""
    return CreateTable(name, columns, (), Options((Option("connector", "memory"),)))


def table_names(script: Script, listed: Iterable[str]) -> set[str]:
    """Inputs of a case that are tables, in lower case: those it lists, and those that the SQL creates."""
    return {name.lower() for name in listed} | {s.name.lower() for s in script.statements if isinstance(s, CreateTable)}


def memory_stream(name: str, columns: tuple[ColumnDef, ...], delay: int, granularity: str, *, has_headers: bool) -> CreateStream:
    options = {
        "connector": "memory",
        "watermark.delay": f"{delay}us",
        "watermark.granularity": granularity,
        "headers": str(has_headers).lower(),
    }
    return CreateStream(name, columns, Options(tuple(Option(key, value) for key, value in options.items())))
