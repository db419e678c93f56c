"""Whole files: statements one by one, so that a fault in one never hides a fault in the next."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from windrow.errors import Diagnostic, SqlError
from windrow.model.expr import Expr, Node
from windrow.model.place import SourceText, Span
from windrow.model.statement import Annotation, Script, Statement
from windrow.model.types import DataType
from windrow.model.window import Trigger
from windrow.sql import codes
from windrow.sql.cursor import NESTING_HINT, Cursor, Rules, SyntaxFaultError
from windrow.sql.data_types import read_type
from windrow.sql.dialect import Kind, Token, comments, tokenize
from windrow.sql.environment import substitute
from windrow.sql.expressions import read_expr, read_sort_key
from windrow.sql.foreign import explain_foreign
from windrow.sql.foreign_phrases import explain_phrase
from windrow.sql.foreign_words import FOREIGN_WORDS
from windrow.sql.lengths import read_duration
from windrow.sql.misquoted import misquoted
from windrow.sql.notes import ReadNotes, read_notes
from windrow.sql.queries import read_query
from windrow.sql.statements import read_statement
from windrow.sql.triggers import read_triggers
from windrow.sql.words import STATEMENTS, nearest

_RULES = Rules(read_expr, read_sort_key, read_query)
_ANNOTATION = re.compile(r"--\s*@([A-Za-z_][\w.-]*)\s*:\s*(.*?)\s*")
# Trees are walked, compared and pickled by recursion; this leaves room for a few frames a level below Python's thousand.
_MAX_HEIGHT = 150
# CREATE TABLE IF NOT EXISTS name (: the name of a definition is the last word before these.
_AFTER_NAME = ("(", "AS", "FROM", "WITH", "USING")
_DEFINED = frozenset({"STREAM", "TABLE", "VIEW", "SINK", "SOURCE", "FUNCTION"})


def parse(text: str, name: str = "<sql>", env: Mapping[str, str] | None = None) -> Script:
    """The statements of a text, or one SqlError with every fault that was found in it.

    >>> [type(s).__name__ for s in parse("SHOW JOBS; SELECT 1").statements]
    ['Show', 'SelectStatement']
    """
    reading = read(text, name, env)
    if reading.faults:
        raise SqlError(reading.faults, reading.script.source)
    return reading.script


@dataclass(frozen=True)
class Reading:
    """What could be read of a text: its sound statements, the faults of the others, and the names that those would have defined."""

    script: Script
    faults: tuple[Diagnostic, ...]
    lost_names: frozenset[str]


def read(text: str, name: str = "<sql>", env: Mapping[str, str] | None = None) -> Reading:
    """Every statement that can be read, and every fault of those that cannot; raises SqlError for placeholders only."""
    return read_source(SourceText(substitute(text, env or {}, name), name, text))


def read_source(source: SourceText) -> Reading:
    """The same of a text whose placeholders have their values."""
    faults: list[Diagnostic] = []
    lost: set[str] = set()
    statements: list[Statement] = []
    done = 0
    for tokens, end in split_statements(tokenize(source.text), len(source.text.rstrip())):
        if tokens:
            try:
                statement = _read(tokens, end, source.text)
                statement = replace(statement, annotations=_annotations(source.text, done, tokens[0].start))
                statements.append(replace(statement, notes=notes_of(statement).notes))
            except _FaultsError as found:
                faults.extend(found.diagnostics)
                lost |= _defined_names(tokens)
        done = end
    if not statements and not faults:
        faults.append(
            Diagnostic(codes.EMPTY, f"no statement in {source.name}", Span(0, 1), "write a statement such as SELECT * FROM trades")
        )
    return Reading(Script(tuple(statements), source), tuple(faults), frozenset(lost))


def unaffected(reading: Reading) -> Script:
    """The sound statements that use nothing which an unreadable one would have defined, directly or by way of another."""
    lost = set(reading.lost_names)
    kept = list(reading.script.statements)
    while True:
        hit = [statement for statement in kept if lost & _words(statement, reading.script.source)]
        if not hit:
            return replace(reading.script, statements=tuple(kept))
        kept = [statement for statement in kept if statement not in hit]
        lost |= {str(getattr(statement, "name", "")).lower() for statement in hit} - {""}


def _words(statement: Statement, source: SourceText) -> set[str]:
    span = statement.span or Span(0, len(source.text))
    return {token.text.lower() for token in tokenize(source.text[span.start : span.end]) if token.kind in (Kind.WORD, Kind.QUOTED)}


def _defined_names(tokens: list[Token]) -> set[str]:
    """The name that a statement which cannot be read would have defined."""
    end = next((i for i, token in enumerate(tokens) if token.key in _AFTER_NAME), len(tokens))
    defines = nearest(tokens[0].text, STATEMENTS) == "CREATE" or any(token.key in _DEFINED for token in tokens[: end - 1])
    if not defines:
        return set()
    names = [token.text.lower() for token in tokens[:end] if token.kind in (Kind.WORD, Kind.QUOTED)]
    return set(names[-1:])


def parse_assignments(text: str, name: str) -> tuple[tuple[str, Expr], ...]:
    """``SET column = expression, ...``; raises SqlError with the place of what cannot be read.

    >>> [column for column, _ in parse_assignments("SET price = ABS(price), note = NULL", "a repair")]
    ['price', 'note']
    """
    cursor = Cursor(tokenize(text), len(text), _RULES)
    try:
        cursor.take("SET")
        found = cursor.between_commas(_read_assignment)
        if not cursor.at_end():
            raise cursor.unexpected()
    except SyntaxFaultError as fault:
        raise SqlError((fault.diagnostic,), SourceText(text, name)) from None
    return found


def _read_assignment(cursor: Cursor) -> tuple[str, Expr]:
    column = cursor.name("the name of a column")
    cursor.expect("=")
    return column, cursor.expr()


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


def parse_triggers(text: str, at: int = 0) -> tuple[Trigger, ...] | Diagnostic:
    """What stands after TRIGGER, or what is wrong with it; ``at`` is its place in a larger text, where its nodes have their spans.

    >>> parse_triggers("EVERY 30s OR ON WATERMARK")
    (EveryInterval(interval=30000000), OnWatermark())
    """
    cursor = Cursor(tokenize(" " * at + text), at + len(text), _RULES)
    try:
        found = read_triggers(cursor)
        if not cursor.at_end():
            raise cursor.unexpected()
    except SyntaxFaultError as fault:
        return fault.diagnostic
    return found


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


def split_statements(tokens: list[Token], text_end: int) -> list[tuple[list[Token], int]]:
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


def _read(tokens: list[Token], end: int, text: str) -> Statement:
    junk = [token.fault for token in tokens if token.kind is Kind.JUNK and token.fault is not None]
    if junk:
        escaped = explain_phrase(tokens, text, junk[0])
        raise _FaultsError(*([escaped] if escaped is not None else junk))
    too_deep = Diagnostic(codes.TOO_DEEP, "this statement is nested too deeply", tokens[0].span, NESTING_HINT)
    try:
        statement = read_statement(Cursor(tokens, end, _RULES))
    except SyntaxFaultError as fault:
        found = fault.diagnostic
        quoted = misquoted(tokens, text, found, lambda changed: _fault_of(changed, end))
        explained = explain_phrase(tokens, text, found) or explain_foreign(FOREIGN_WORDS, tokens, text, found)
        raise _FaultsError(*quoted or [explained or found]) from None
    except RecursionError:
        raise _FaultsError(too_deep) from None
    if _height(statement) > _MAX_HEIGHT:
        message = f"this statement holds an expression of more than {_MAX_HEIGHT} levels"
        raise _FaultsError(replace(too_deep, message=message, hint="use IN (...) or a table instead of a long chain"))
    return statement


def _fault_of(tokens: list[Token], end: int) -> Diagnostic | None:
    """What is wrong with the text of these tokens, if anything is."""
    try:
        read_statement(Cursor(tokens, end, _RULES))
    except SyntaxFaultError as fault:
        return fault.diagnostic
    except RecursionError:
        return Diagnostic(codes.TOO_DEEP, "nested too deeply", tokens[0].span, NESTING_HINT)
    return None


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


def match_annotation(comment: str) -> re.Match[str] | None:
    """Key and value of a comment that is an annotation."""
    return _ANNOTATION.fullmatch(comment)


def _annotations(text: str, start: int, end: int) -> tuple[Annotation, ...]:
    """The ``-- @key: value`` comments between the statement before and this one."""
    found = []
    for span in comments(text, start, end):
        match = match_annotation(text[span.start : span.end])
        if match:
            value = Span(span.start + match.start(2), span.start + match.end(2))
            found.append(Annotation(match[1], match[2], value, span=span))
    return tuple(found)
