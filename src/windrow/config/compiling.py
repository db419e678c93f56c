"""A file of a project, compiled: what it includes goes before it, and an environment changes what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from windrow.catalog.names import closest
from windrow.check.blocks import query_of
from windrow.compiler import Compiled, compile_source
from windrow.config import codes
from windrow.config.environments import Environment, Value
from windrow.config.finding import shown
from windrow.config.overlay import names_of, overlay
from windrow.errors import Diagnostic, SqlError, UsageError
from windrow.model.expr import walk
from windrow.model.place import JoinedText, SourceText, Span
from windrow.model.query import NamedSource
from windrow.model.statement import CreateStreamAs, CreateTableAs, Script, Statement
from windrow.sql import read_source, substitute

_KINDS = {"streams": "source or table", "sinks": "output", "windows": "query or stream"}


def compile_file(text: str, name: str, environment: Environment, process: Mapping[str, str]) -> Compiled:
    """A SQL file in an environment. Raises SqlError with every diagnostic, each in the file that it is about."""
    source = source_of(text, name, environment, process)
    return compile_source(source, lambda script: changed(script, environment, process))


def source_of(text: str, name: str, environment: Environment, process: Mapping[str, str]) -> JoinedText:
    """The file after what it includes, with windrow.yaml beyond."""
    variables = environment.variables(process)
    path = Path(name).resolve()
    others = [include for include in environment.project.includes if include != path]
    before = tuple(_filled(include.read_text(encoding="utf-8-sig"), shown(include), variables) for include in others)
    return JoinedText.of(before, _filled(text, name, variables), (environment.project.source,))


def case_text(path: Path, environment: Environment, process: Mapping[str, str]) -> tuple[JoinedText, Script]:
    """The text of a file that a case runs, and its statements as the environment has them."""
    source = source_of(_text(path), shown(path.resolve()), environment, process)
    reading = read_source(source)
    if reading.faults:
        raise SqlError(reading.faults, source)
    return source, changed(reading.script, environment, process)


def changed(script: Script, environment: Environment, process: Mapping[str, str]) -> Script:
    """The statements as the environment has them; raises SqlError where it says what cannot be."""
    source = script.source
    assert isinstance(source, JoinedText)
    at = source.parts[-1].start
    script = replace(script, statements=tuple(_wanted(script, source)))
    done = overlay(script, environment, at)
    faults = [*done.faults, *_unknown_names(environment, process, script, at)]
    if faults:
        raise SqlError(tuple(faults), source)
    return done.script


def _wanted(script: Script, source: JoinedText) -> list[Statement]:
    """Without the included queries that nothing reads: what is included serves the file, and is not run by each of them."""
    main = next(part.start for part in source.parts if part.source.name == source.name)
    kept = list(script.statements)
    while True:
        read = {
            node.name.lower()
            for statement in kept
            for query in (query_of(statement),)
            if query
            for node in walk(query)
            if isinstance(node, NamedSource)
        }
        unread = [
            one
            for one in kept
            if isinstance(one, CreateStreamAs | CreateTableAs)
            and one.span is not None
            and one.span.start < main
            and one.name.lower() not in read
        ]
        if not unread:
            return kept
        kept = [one for one in kept if one not in unread]


def _filled(text: str, name: str, variables: Mapping[str, str]) -> SourceText:
    return SourceText(substitute(text, variables, name), name, text)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        raise UsageError("WR901", f"cannot read {path}: {reason}", 'give "sql_file" the path of a .sql file, from the case file') from None


def _unknown_names(environment: Environment, process: Mapping[str, str], script: Script, at: int) -> list[Diagnostic]:
    """Names that neither this file nor another of the project has. Other files are only read where that is in question."""
    asked = [(head, name, values[0]) for head in ("streams", "sinks", "windows") for name, values in environment.names_under(head).items()]
    known = names_of(script)
    if all(name.lower() in known[head] for head, name, _ in asked):
        return []
    for path in (*environment.project.includes, *environment.project.sql_files):
        try:
            reading = read_source(_filled(_text(path), shown(path), environment.variables(process)))
        except SqlError:
            # Told when that file is checked; until then nobody can say what it has.
            return []
        if reading.faults:
            return []
        for head, names in names_of(reading.script).items():
            known[head] |= names
    missing = [(head, name, value) for head, name, value in asked if name.lower() not in known[head]]
    found: list[Diagnostic] = []
    for head, name, value in missing:
        message = f'{head}: no file of the project has a {_KINDS[head]} "{name}"'
        found.append(Diagnostic(codes.UNKNOWN_NAME, message, _place(value, name, environment, at), _hint(head, name, known)))
    return found


def _hint(head: str, name: str, known: Mapping[str, set[str]]) -> str:
    others = [other for other in ("streams", "sinks") if other != head and head != "windows" and name.lower() in known[other]]
    if others:
        return f"it belongs under {others[0]}"
    similar = closest(name, sorted(known[head]))
    there = f"there are: {', '.join(sorted(known[head]))}" if known[head] else "there is none"
    return f'did you mean "{similar[0]}"? {there}' if similar else there


def _place(value: Value, name: str, environment: Environment, at: int) -> Span:
    """The name itself where it stands on a line of its own above the value, else the key of the value."""
    text = environment.project.source.text
    found = text.rfind(name, 0, value.key_span.start)
    span = value.key_span if found < 0 or value.origin.via else Span(found, found + len(name))
    return replace(span, start=span.start + at, end=span.end + at)
