"""Which definitions of a script there are at each of its statements: DROP ends one, and its name is free again."""

from __future__ import annotations

from dataclasses import dataclass

from windrow.model.expr import walk
from windrow.model.query import CommonTable, NamedSource, Query
from windrow.model.statement import (
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateTableAs,
    Drop,
    InsertInto,
    Script,
    SelectStatement,
    Statement,
)

Definition = CreateStream | CreateStreamAs | CreateTable | CreateTableAs
_KINDS: dict[str, tuple[type, ...]] = {"STREAM": (CreateStream, CreateStreamAs), "TABLE": (CreateTable, CreateTableAs)}


@dataclass(frozen=True)
class DropFault:
    """A DROP that cannot be: ``definition`` is of the other kind, or ``users`` still read or write it; neither where nothing is there."""

    drop: Drop
    definition: Definition | None = None
    users: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lifetimes:
    """``whole`` is the script as written, ``current`` what is left of it when everything is dropped that is."""

    whole: tuple[Statement, ...]
    current: tuple[Statement, ...]
    faults: tuple[DropFault, ...]


def lifetimes(script: Script) -> Lifetimes:
    living: list[Statement] = []
    faults: list[DropFault] = []
    for statement in script.statements:
        if isinstance(statement, Drop):
            definition, fault = _dropped(statement, living)
            faults += [] if fault is None else [fault]
            living = [each for each in living if each is not definition]
        living.append(statement)
    return Lifetimes(script.statements, tuple(living), tuple(faults))


def _dropped(drop: Drop, living: list[Statement]) -> tuple[Definition | None, DropFault | None]:
    """What a DROP ends, or why it cannot."""
    name = drop.name.lower()
    named = [each for each in living if isinstance(each, Definition) and each.name.lower() == name]
    if not named:
        return None, None if drop.if_exists else DropFault(drop)
    definition = named[-1]
    if not isinstance(definition, _KINDS[drop.what]):
        return None, DropFault(drop, definition)
    others = tuple(each for each in living if each is not definition)
    users = (*readers_of(name, others), *writers_of(name, others))
    return (None, DropFault(drop, definition, users)) if users else (definition, None)


def readers_of(name: str, statements: tuple[Statement, ...]) -> tuple[str, ...]:
    """The statements that read a stream or table, as a message calls them."""
    users: list[str] = []
    for statement in statements:
        match statement:
            case CreateStreamAs(name=user, query=query) | CreateTableAs(name=user, query=query) if name.lower() in names_read(query):
                users.append(user)
            case SelectStatement(query=query) if name.lower() in names_read(query):
                users.append("a SELECT")
            case InsertInto(name=target, query=query) if name.lower() in names_read(query):
                users.append(f"INSERT INTO {target}")
            case _:
                pass
    return tuple(dict.fromkeys(users))


def writers_of(name: str, statements: tuple[Statement, ...]) -> tuple[str, ...]:
    """The statements that put rows into a stream or table: its own query, and every INSERT INTO."""
    users: list[str] = []
    for statement in statements:
        match statement:
            case CreateStreamAs(name=target) | CreateTableAs(name=target) if target.lower() == name.lower():
                users.append("its own query")
            case InsertInto(name=target, query=query) if target.lower() == name.lower():
                users.append(f"INSERT INTO from {', '.join(sorted(names_read(query)))}")
            case _:
                pass
    return tuple(dict.fromkeys(users))


def names_read(query: Query) -> set[str]:
    """Streams and tables that a query reads, in lower case; its own common tables are none of them."""
    nodes = list(walk(query))
    own = {node.name.lower() for node in nodes if isinstance(node, CommonTable)}
    return {node.name.lower() for node in nodes if isinstance(node, NamedSource)} - own
