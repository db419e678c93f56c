"""Whole files: statements one by one, so that a fault in one never hides a fault in the next."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, replace

from windrow.errors import Diagnostic, SqlError
from windrow.model.expr import Expr, Node
from windrow.model.place import SourceText, Span
from windrow.model.statement import Annotation, Script, Statement
from windrow.model.types import DataType
from windrow.sql import codes
from windrow.sql.cursor import NESTING_HINT, Cursor, Rules, SyntaxFaultError
from windrow.sql.data_types import read_type
from windrow.sql.dialect import Kind, Token, comments, tokenize
from windrow.sql.environment import substitute
from windrow.sql.expressions import read_expr, read_sort_key
from windrow.sql.lengths import read_duration
from windrow.sql.notes import ReadNotes, read_notes
from windrow.sql.queries import read_query
from windrow.sql.statements import read_statement

_RULES = Rules(read_expr, read_sort_key, read_query)
_ANNOTATION = re.compile(r"--\s*@([A-Za-z_][\w.-]*)\s*:\s*(.*?)\s*")
# Trees are walked, compared and pickled by recursion; this leaves room for a few frames a level below Python's thousand.
_MAX_HEIGHT = 150


def parse(text: str, name: str = "<sql>", env: Mapping[str, str] | None = None) -> Script:
    """The statements of a text, or one SqlError with every fault that was found in it.

    >>> [type(s).__name__ for s in parse("SHOW JOBS; SELECT 1").statements]
    ['Show', 'SelectStatement']
    """
    source = SourceText(substitute(text, env or {}, name), name)
    faults: list[Diagnostic] = []
    statements: list[Statement] = []
    done = 0
    for tokens, end in _split(tokenize(source.text), len(source.text.rstrip())):
        if tokens:
            try:
                statement = _read(tokens, end)
                statement = replace(statement, annotations=_annotations(source.text, done, tokens[0].start))
                statements.append(replace(statement, notes=notes_of(statement).notes))
            except _FaultsError as found:
                faults.extend(found.diagnostics)
        done = end
    if not statements and not faults:
        faults.append(Diagnostic(codes.EMPTY, f"no statement in {name}", Span(0, 1), "write a statement such as SELECT * FROM trades"))
    if faults:
        raise SqlError(tuple(faults), source)
    return Script(tuple(statements), source)


def parse_duration(text: str) -> int | None:
    """A length of time in microseconds: ``30s``, ``1.5h``, ``INTERVAL '5' MINUTE``, a bare number of seconds; None if it is none.

    >>> parse_duration("500ms"), parse_duration("2"), parse_duration("soon"), parse_duration("-1s")
    (500000, 2000000, None, None)
    """
    tokens = tokenize(text)
    cursor = Cursor(tokens, len(text), _RULES)
    try:
        micros = read_duration(cursor)
    except SyntaxFaultError:
        return None
    return micros if cursor.at_end() and micros >= 0 else None


def ends_statement(text: str) -> bool:
    """Whether a text is whole: its last token is a semicolon that belongs to no string or comment.

    >>> ends_statement("SELECT 1;  -- so"), ends_statement("SELECT ';"), ends_statement("SELECT 1")
    (True, False, False)
    """
    tokens = tokenize(text)
    return bool(tokens) and tokens[-1].key == ";"


def notes_of(statement: Statement) -> ReadNotes:
    """What the annotations of a statement say, with everything that is wrong with them."""
    return read_notes(statement.annotations, _read_condition)


def _read_condition(text: str, at: int) -> Expr | Diagnostic:
    """An expression that stands at a place of a larger text, where its nodes have their spans."""
    placed = " " * at + text
    cursor = Cursor(tokenize(placed), len(placed), _RULES)
    try:
        found = read_expr(cursor)
        if not cursor.at_end():
            raise cursor.unexpected()
    except SyntaxFaultError as fault:
        return fault.diagnostic
    except RecursionError:
        return Diagnostic(codes.TOO_DEEP, "nested too deeply", Span(at, at + len(text)), NESTING_HINT)
    return found


def parse_type(text: str) -> DataType | None:
    """A data type, or None if the text is none.

    >>> str(parse_type("map<string, array<int>>"))
    'MAP<STRING,ARRAY<INT>>'
    """
    cursor = Cursor(tokenize(text), len(text), _RULES)
    try:
        found = read_type(cursor)
    except (SyntaxFaultError, RecursionError):
        return None
    return found if cursor.at_end() else None


class _FaultsError(Exception):
    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__(diagnostics)
        self.diagnostics = diagnostics


def _split(tokens: list[Token], text_end: int) -> list[tuple[list[Token], int]]:
    """The tokens of each statement, and where the statement ends: at its semicolon or at the end of the text."""
    pieces: list[tuple[list[Token], int]] = []
    current: list[Token] = []
    for token in tokens:
        if token.key == ";":
            pieces.append((current, token.start))
            current = []
        else:
            current.append(token)
    return [*pieces, (current, current[-1].end if current else text_end)]


def _read(tokens: list[Token], end: int) -> Statement:
    junk = [token.fault for token in tokens if token.kind is Kind.JUNK and token.fault is not None]
    if junk:
        raise _FaultsError(*junk)
    too_deep = Diagnostic(codes.TOO_DEEP, "this statement is nested too deeply", tokens[0].span, NESTING_HINT)
    try:
        statement = read_statement(Cursor(tokens, end, _RULES))
    except SyntaxFaultError as fault:
        raise _FaultsError(fault.diagnostic) from None
    except RecursionError:
        raise _FaultsError(too_deep) from None
    if _height(statement) > _MAX_HEIGHT:
        message = f"this statement holds an expression of more than {_MAX_HEIGHT} levels"
        raise _FaultsError(replace(too_deep, message=message, hint="use IN (...) or a table instead of a long chain"))
    return statement


def _height(root: Node) -> int:
    """How many nodes stand above one another, found without recursion."""
    height = 0
    level: list[object] = [root]
    while level:
        height += 1
        below: list[object] = []
        while level:
            value = level.pop()
            if isinstance(value, tuple):
                level.extend(value)
            elif isinstance(value, Node):
                below.extend(getattr(value, spec.name) for spec in fields(value) if spec.name != "span")
        level = below
    return height


def _annotations(text: str, start: int, end: int) -> tuple[Annotation, ...]:
    """The ``-- @key: value`` comments between the statement before and this one."""
    found = []
    for span in comments(text, start, end):
        match = _ANNOTATION.fullmatch(text[span.start : span.end])
        if match:
            value = Span(span.start + match.start(2), span.start + match.end(2))
            found.append(Annotation(match[1], match[2], value, span=span))
    return tuple(found)
