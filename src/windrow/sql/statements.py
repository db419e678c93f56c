"""Statements: which one it is, and its own words around a query or a list of columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from windrow.model.constraint import Constraint
from windrow.model.expr import Column
from windrow.model.options import Options
from windrow.model.query import Select
from windrow.model.statement import (
    EXPLAIN_FORMATS,
    OF_ALL_STATEMENTS,
    CreateFunction,
    CreateStream,
    CreateStreamAs,
    CreateTable,
    CreateTableAs,
    Describe,
    Drop,
    Explain,
    ExplainOptions,
    InsertInto,
    SelectStatement,
    Show,
    Statement,
)
from windrow.model.types import ColumnDef
from windrow.sql import codes
from windrow.sql.constraints import at_constraint, read_constraint
from windrow.sql.cursor import Cursor
from windrow.sql.data_types import read_type
from windrow.sql.dialect import Kind, Token
from windrow.sql.options import at_options, read_options
from windrow.sql.queries import read_query_with_options
from windrow.sql.watermark_for import WatermarkFor, read_watermark_for, with_watermark
from windrow.sql.words import STATEMENTS, nearest


def read_statement(cursor: Cursor) -> Statement:
    """One whole statement, to its last token."""
    start = cursor.peek()
    statement = _read_any(cursor)
    if not cursor.at_end():
        raise cursor.unexpected()
    return replace(statement, span=cursor.since(start))


def _read_any(cursor: Cursor) -> Statement:
    token = cursor.peek()
    if token.key in ("SELECT", "WITH", "("):
        return _read_bare_query(cursor)
    read = _STATEMENTS.get(token.key)
    if read is None:
        close = nearest(token.text, STATEMENTS) if token.kind is Kind.WORD else None
        hint = f"did you mean {close}?" if close else f"a statement starts with {', '.join(STATEMENTS)}"
        raise cursor.fault(codes.UNKNOWN_STATEMENT, f"{token.shown} does not start a statement", hint=hint)
    cursor.advance()
    return read(cursor)


def _read_bare_query(cursor: Cursor) -> SelectStatement:
    query, options = read_query_with_options(cursor)
    if options and not isinstance(query, Select):
        message = "a UNION that prints to the console takes no WITH (...)"
        raise cursor.fault(codes.MISPLACED, message, options.span, "write CREATE STREAM name AS ... WITH (...)")
    if options and isinstance(query, Select):
        query = replace(query, options=options)
    return SelectStatement(query)


def _read_create(cursor: Cursor) -> Statement:
    if cursor.take("STREAM"):
        return _read_create_source(cursor, is_table=False)
    if cursor.take("TABLE"):
        return _read_create_source(cursor, is_table=True)
    if cursor.take("FUNCTION"):
        return _read_create_function(cursor)
    raise cursor.expected("STREAM, TABLE or FUNCTION after CREATE", "STREAM", "TABLE", "FUNCTION")


def _read_create_source(cursor: Cursor, is_table: bool) -> Statement:
    kind = "table" if is_table else "stream"
    name = cursor.name(f"the name of a {kind}")
    listed = _read_columns(cursor, is_table) if cursor.at("(") else _Listed()
    has_columns = bool(listed.columns)
    options = read_options(cursor) if at_options(cursor) else Options()
    if listed.watermark is not None:
        options = with_watermark(cursor, options, listed.watermark)
    if not has_columns and cursor.take("AS"):
        return _read_create_as(cursor, name, options, is_table, tuple(listed.constraints))
    if not has_columns and not options:
        raise cursor.expected("( and columns, AS and a query, or WITH (...)", "AS", "WITH")
    columns, keys = tuple(listed.columns), listed.keys or tuple(listed.beside)
    return CreateTable(name, columns, keys, options) if is_table else CreateStream(name, columns, options, tuple(listed.constraints))


def _read_create_as(cursor: Cursor, name: str, early: Options, is_table: bool, constraints: tuple[Constraint, ...]) -> Statement:
    query, options = read_query_with_options(cursor)
    if at_options(cursor) and not options:
        options = read_options(cursor)
    if early and options:
        raise cursor.fault(codes.REPEATED, "WITH (...) is given twice", options.span, "keep one WITH, after the query")
    both = early or options
    return CreateTableAs(name, query, both) if is_table else CreateStreamAs(name, query, both, constraints)


@dataclass
class _Listed:
    """What stands between the parentheses of a CREATE: ``keys`` are an entry of their own, those ``beside`` mark their columns."""

    columns: list[ColumnDef] = field(default_factory=list)
    keys: tuple[str, ...] = ()
    beside: list[str] = field(default_factory=list)
    watermark: WatermarkFor | None = None
    constraints: list[Constraint] = field(default_factory=list)


def _read_columns(cursor: Cursor, is_table: bool) -> _Listed:
    """The columns, the names that PRIMARY KEY marks, WATERMARK FOR, and what is expected of rows."""
    cursor.expect("(")
    listed = _Listed()
    while not (listed.columns or listed.constraints) or cursor.take(","):
        word = cursor.peek()
        if at_constraint(cursor):
            listed.constraints.append(read_constraint(cursor, is_table))
        elif cursor.at("PRIMARY", "KEY") and listed.columns:
            _read_listed_key(cursor, listed, is_table)
        elif cursor.at("WATERMARK", "FOR") and listed.columns:
            if listed.watermark is not None:
                raise cursor.fault(codes.REPEATED, "WATERMARK FOR is given twice", word.span, "keep one of them")
            listed.watermark = read_watermark_for(cursor, is_table)
        else:
            _read_listed_column(cursor, listed, is_table)
    cursor.expect(")")
    return listed


def _read_listed_key(cursor: Cursor, listed: _Listed, is_table: bool) -> None:
    word = cursor.peek()
    _check_key(cursor, is_table, word)
    cursor.take("PRIMARY", "KEY")
    if listed.keys or listed.beside:
        raise cursor.fault(codes.REPEATED, "PRIMARY KEY is given twice", word.span, "keep one: PRIMARY KEY (a, b)")
    listed.keys = cursor.in_parentheses(lambda inner: inner.between_commas(lambda each: each.name("the name of a column")))
    # Flink's words for what is always so: nobody looks whether the key is unique.
    cursor.take("NOT", "ENFORCED")


def _read_listed_column(cursor: Cursor, listed: _Listed, is_table: bool) -> None:
    listed.columns.append(_read_column(cursor))
    word = cursor.peek()
    if not cursor.take("PRIMARY", "KEY"):
        return
    _check_key(cursor, is_table, word)
    if listed.keys:
        raise cursor.fault(codes.REPEATED, "PRIMARY KEY is given twice", word.span, "keep one: PRIMARY KEY (a, b)")
    listed.beside.append(listed.columns[-1].name)
    if not cursor.take("NOT", "ENFORCED") and cursor.take("NOT", "NULL"):
        listed.columns[-1] = replace(listed.columns[-1], nullable=False)


def _check_key(cursor: Cursor, is_table: bool, word: Token) -> None:
    if not is_table:
        hint = "remove it: rows of a stream stand for themselves; CREATE TABLE holds the latest row of each key"
        raise cursor.fault(codes.MISPLACED, "PRIMARY KEY belongs to a table, not to a stream", word.span, hint)


def _read_column(cursor: Cursor) -> ColumnDef:
    name = cursor.name("the name of a column")
    type_ = read_type(cursor)
    nullable = not cursor.take("NOT", "NULL")
    if nullable:
        cursor.take("NULL")
    return ColumnDef(name, type_, nullable)


def _read_create_function(cursor: Cursor) -> CreateFunction:
    name = cursor.name("the name of a function")
    cursor.expect("(")
    parameters = () if cursor.at(")") else cursor.between_commas(_read_column)
    cursor.expect(")", "RETURNS")
    returns = read_type(cursor)
    cursor.expect("LANGUAGE", "PYTHON", "AS")
    if cursor.peek().kind is not Kind.STRING:
        raise cursor.expected("a target such as 'module:function'")
    return CreateFunction(name, parameters, returns, cursor.advance().text)


def _read_insert(cursor: Cursor) -> InsertInto:
    cursor.expect("INTO")
    name = cursor.name("the name of a stream or table")
    is_listed = cursor.at("(") and cursor.peek(1).key not in ("SELECT", "WITH", "(")
    columns = cursor.in_parentheses(lambda inner: inner.between_commas(_read_target_column)) if is_listed else ()
    query, options = read_query_with_options(cursor)
    if options:
        message = "INSERT INTO takes no WITH (...): the options are those of its target"
        raise cursor.fault(codes.MISPLACED, message, options.span, f"put them into CREATE STREAM {name}")
    return InsertInto(name, query, columns)


def _read_target_column(cursor: Cursor) -> Column:
    start = cursor.peek()
    return Column(cursor.name("the name of a column"), span=start.span)


def _read_explain(cursor: Cursor) -> Explain | Show:
    if cursor.at_any(OF_ALL_STATEMENTS):
        return Show(cursor.advance().key)
    options = _read_explain_options(cursor)
    start = cursor.peek()
    if cursor.at("EXPLAIN"):
        raise cursor.fault(codes.SYNTAX, f"expected a statement to explain, found {start.shown}", hint="write EXPLAIN once")
    aspect = next((word for word in ("LINEAGE", "IMPACT") if cursor.take(word)), "PLAN")
    if aspect != "PLAN" and options != ExplainOptions():
        hint = f"write EXPLAIN {aspect} ..., or the options without {aspect}"
        raise cursor.fault(codes.MISPLACED, f"{aspect} takes no options", start.span, hint)
    start = cursor.peek()
    inner = _read_any(cursor)
    if isinstance(inner, Show | Describe | Drop | CreateFunction):
        hint = "write EXPLAIN SELECT ..., or EXPLAIN before a CREATE or INSERT"
        raise cursor.fault(codes.MISPLACED, f"there is no plan for {start.key} to explain", start.span, hint)
    return Explain(replace(inner, span=cursor.since(start)), aspect, options)


_EXPLAIN_WORDS = ("ANALYZE", "VERBOSE", "TOPOLOGY")


def _read_explain_options(cursor: Cursor) -> ExplainOptions:
    """``EXPLAIN ANALYZE VERBOSE ...`` or ``EXPLAIN (ANALYZE, FORMAT JSON) ...``."""
    start = cursor.peek()
    words: dict[str, str | bool] = {}
    if cursor.at("(") and cursor.peek(1).key in (*_EXPLAIN_WORDS, "FORMAT"):
        words = dict(cursor.in_parentheses(lambda each: each.between_commas(_read_explain_option)))
    else:
        while cursor.at_any(_EXPLAIN_WORDS):
            words.update([_read_explain_option(cursor)])
    found = ExplainOptions(**words)  # type: ignore[arg-type]
    if found.verbose and not found.analyze:
        message = "VERBOSE belongs to ANALYZE: without it a plan says all there is"
        raise cursor.fault(codes.MISPLACED, message, start.span, "write EXPLAIN (ANALYZE, VERBOSE) ..., or EXPLAIN alone")
    if found.format in ("DOT", "SVG") and not found.topology:
        message = f"FORMAT {found.format} draws the topology"
        raise cursor.fault(codes.MISPLACED, message, start.span, f"write EXPLAIN (TOPOLOGY, FORMAT {found.format}) ...")
    return found


def _read_explain_option(cursor: Cursor) -> tuple[str, str | bool]:
    for word in _EXPLAIN_WORDS:
        if cursor.take(word):
            return word.lower(), True
    if not cursor.take("FORMAT"):
        message = f"expected an option of EXPLAIN, found {cursor.peek().shown}"
        raise cursor.fault(codes.SYNTAX, message, hint="there are ANALYZE, VERBOSE, TOPOLOGY and FORMAT")
    for form in EXPLAIN_FORMATS:
        if cursor.take(form):
            return "format", form
    raise cursor.fault(codes.SYNTAX, f"expected a format, found {cursor.peek().shown}", hint=f"there are {', '.join(EXPLAIN_FORMATS)}")


def _read_show(cursor: Cursor) -> Show:
    choices = ("STREAMS", "TABLES", "FUNCTIONS", "JOBS")
    if not cursor.at_any(choices):
        raise _unknown(cursor, "SHOW", choices)
    what = cursor.advance().key
    if not cursor.take("LIKE"):
        return Show(what)
    if cursor.peek().kind is not Kind.STRING:
        raise cursor.expected("a pattern such as 'to%'")
    return Show(what, cursor.advance().text)


def _read_describe(cursor: Cursor) -> Describe:
    return Describe(cursor.name("the name of a stream or table"))


def _read_drop(cursor: Cursor) -> Drop:
    choices = ("STREAM", "TABLE")
    if not cursor.at_any(choices):
        raise _unknown(cursor, "DROP", choices)
    what = cursor.advance().key
    if_exists = cursor.take("IF", "EXISTS")
    return Drop(what, cursor.name(f"the name of a {what.lower()}"), if_exists)


def _unknown(cursor: Cursor, verb: str, choices: tuple[str, ...]) -> Exception:
    token = cursor.peek()
    close = nearest(token.text, choices) if token.kind is Kind.WORD else None
    hint = f"did you mean {verb} {close}?" if close else f"write {verb} {' | '.join(choices)}"
    return cursor.fault(codes.UNKNOWN_CHOICE, f"expected {', '.join(choices)} after {verb}, found {token.shown}", hint=hint)


_STATEMENTS: dict[str, Callable[[Cursor], Statement]] = {
    "CREATE": _read_create,
    "INSERT": _read_insert,
    "EXPLAIN": _read_explain,
    "SHOW": _read_show,
    "DESCRIBE": _read_describe,
    "DESC": _read_describe,
    "DROP": _read_drop,
}
