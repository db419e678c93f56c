"""What a shell knows: the definitions made so far, and what each further statement means on top of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from windrow.catalog import Catalog, build_catalog
from windrow.catalog.known_columns import with_known_columns
from windrow.catalog.lifetimes import lifetimes
from windrow.compiler import Compiled, compile_script
from windrow.errors import Diagnostic, SqlError
from windrow.introspection import Answer
from windrow.model.place import SourceText, Span
from windrow.model.query import Select
from windrow.model.statement import (
    CreateFunction,
    CreateTable,
    CreateTableAs,
    Describe,
    Drop,
    Explain,
    InsertInto,
    Script,
    SelectStatement,
    Show,
    Statement,
)
from windrow.plan import bare_names, plan_part
from windrow.sql import parse

NAME = "<shell>"


@dataclass(frozen=True)
class Done:
    """A definition was taken in."""

    text: str


@dataclass(frozen=True)
class Query:
    """A SELECT to run, by itself with what it reads. ``limit``: it is over after so many rows."""

    compiled: Compiled
    name: str
    limit: int | None


Reply = Done | Answer | Query


@dataclass
class ShellSession:
    """Definitions only define: what runs is a SELECT, and the sinks of other statements are not written."""

    folder: Path
    env: Mapping[str, str] = field(default_factory=dict)
    statements: tuple[Statement, ...] = ()
    # Each text is read as if it stood behind all those before it, so that the places of statements never overlap.
    _read: int = 0

    def submit(self, text: str, name: str = NAME) -> Iterator[Reply]:
        """The replies to the statements of a text. Raises SqlError, with places in this text, at the first that is wrong."""
        start, self._read = self._read, self._read + len(text) + 1
        try:
            script = parse(" " * start + text, name, self.env)
        except SqlError as error:
            raise _own_places(error, start) from None
        for statement in script.statements:
            try:
                yield self._take(statement, script.source)
            except SqlError as error:
                raise _own_places(error, start) from None

    def _take(self, statement: Statement, source: SourceText) -> Reply:
        script = Script((*self.statements, statement), source)
        compiled = compile_script(script, folder=self.folder)
        match statement:
            case SelectStatement(query=query):
                name = bare_names(script)[-1]
                part = plan_part(script, compiled.catalog, name, str(self.folder))
                return Query(replace(compiled, plan=part), name, query.limit if isinstance(query, Select) else None)
            case Show() | Describe() | Explain():
                return compiled.answers[-1]
            case _:
                self.statements = tuple(each for each in lifetimes(script).current if not isinstance(each, Drop))
                return Done(_done(statement))

    def catalog(self) -> Catalog:
        return build_catalog(with_known_columns(Script(self.statements, SourceText(""))))


def _done(statement: Statement) -> str:
    name = getattr(statement, "name", "")
    match statement:
        case Drop(what=what):
            return f"{what.lower()} {name} dropped"
        case InsertInto():
            return f"{name} is fed by one more query"
        case CreateFunction():
            return f"function {name} created"
        case CreateTable() | CreateTableAs():
            return f"table {name} created"
        case _:
            return f"stream {name} created"


def _own_places(error: SqlError, start: int) -> SqlError:
    """The error with places in the text that was typed; what lies before it can only be told."""
    shown = tuple(_moved(diagnostic, start) for diagnostic in error.diagnostics)
    return SqlError(shown, SourceText(error.source.text[start:], error.source.name))


def _moved(diagnostic: Diagnostic, start: int) -> Diagnostic:
    span = diagnostic.span
    return replace(diagnostic, span=None if span is None or span.start < start else Span(span.start - start, span.end - start))
