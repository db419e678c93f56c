"""Whole scripts back to text, in one canonical layout."""

from __future__ import annotations

from typing import assert_never

from windrow.model.constraint import Constraint
from windrow.model.options import Options
from windrow.model.query import Query
from windrow.model.statement import (
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
    Script,
    SelectStatement,
    Show,
    Statement,
)
from windrow.model.types import Array, ColumnDef, DataType, Map, Struct
from windrow.sql.constraints import render_constraint
from windrow.sql.layout import query_lines, render_options
from windrow.sql.words import quote_name, quote_string

_WIDTH = 100


def format_script(script: Script) -> str:
    """The canonical text of a script: it parses to the same script. Comments other than annotations are not part of a script.

    >>> from windrow.sql.script import parse
    >>> print(format_script(parse("select a from t emit changes where a>1")), end="")
    SELECT a
    FROM t
    WHERE a > 1
    EMIT CHANGES;
    """
    return "\n".join(f"{format_statement(statement)};\n" for statement in script.statements)


def format_statement(statement: Statement) -> str:
    """One statement with its annotations, without the semicolon."""
    notes = "".join(f"-- @{note.key}: {note.value}".rstrip() + "\n" for note in statement.annotations)
    return notes + escape_placeholders(_statement(statement))


def format_bare(statement: Statement) -> str:
    """One statement without its annotations and its semicolon, placeholders not escaped."""
    return _statement(statement)


def escape_placeholders(text: str) -> str:
    """The text of a script is read with placeholders replaced: what looks like one here is meant as it stands."""
    return text.replace("${", "$${")


def _statement(statement: Statement) -> str:
    match statement:
        case CreateStream(name=name, columns=columns, options=options, constraints=constraints):
            entries = [*(_column(column) for column in columns), *map(render_constraint, constraints)]
            return _create("STREAM", name, entries, options)
        case CreateTable(name=name, columns=columns, primary_key=keys, options=options):
            entries = [_column(column) for column in columns]
            if keys:
                entries.append(f"PRIMARY KEY ({', '.join(map(quote_name, keys))})")
            return _create("TABLE", name, entries, options)
        case CreateStreamAs(name=name, query=query, options=options, constraints=constraints):
            return _create_as("STREAM", name, query, options, constraints)
        case CreateTableAs(name=name, query=query, options=options):
            return _create_as("TABLE", name, query, options)
        case CreateFunction(name=name, parameters=parameters, returns=returns, target=target):
            inner = ", ".join(_column(parameter) for parameter in parameters)
            return f"CREATE FUNCTION {quote_name(name)}({inner}) RETURNS {render_type(returns)} LANGUAGE PYTHON AS {quote_string(target)}"
        case InsertInto(name=name, query=query, columns=into):
            listed = f" ({', '.join(quote_name(column.name) for column in into)})" if into else ""
            return "\n".join([f"INSERT INTO {quote_name(name)}{listed}", *query_lines(query)])
        case SelectStatement(query=query):
            return "\n".join(query_lines(query))
        case Explain(statement=inner_statement, aspect=aspect, options=how):
            return f"EXPLAIN {'' if aspect == 'PLAN' else f'{aspect} '}{_explain_options(how)}{_statement(inner_statement)}"
        case Show(what=what, like=like):
            return f"{'EXPLAIN' if what in OF_ALL_STATEMENTS else 'SHOW'} {what}" + ("" if like is None else f" LIKE {quote_string(like)}")
        case Describe(name=name):
            return f"DESCRIBE {quote_name(name)}"
        case Drop(what=what, name=name, if_exists=if_exists):
            return f"DROP {what} {'IF EXISTS ' if if_exists else ''}{quote_name(name)}"
        case _:
            assert_never(statement)


def _create(kind: str, name: str, entries: list[str], options: Options) -> str:
    line = _listed(f"CREATE {kind} {quote_name(name)}", entries)
    return f"{line}\n{render_options(options)}" if options else line


def _explain_options(how: ExplainOptions) -> str:
    words = [word for word, is_on in (("ANALYZE", how.analyze), ("VERBOSE", how.verbose), ("TOPOLOGY", how.topology)) if is_on]
    words += [f"FORMAT {how.format}"] if how.format != "TEXT" else []
    return f"({', '.join(words)}) " if words else ""


def _listed(line: str, entries: list[str]) -> str:
    if not entries:
        return line
    one_line = f"{line} ({', '.join(entries)})"
    return one_line if len(one_line) <= _WIDTH else f"{line} (\n  " + ",\n  ".join(entries) + "\n)"


def _create_as(kind: str, name: str, query: Query, options: Options, constraints: tuple[Constraint, ...] = ()) -> str:
    head = _listed(f"CREATE {kind} {quote_name(name)}", list(map(render_constraint, constraints)))
    lines = [f"{head} AS", *query_lines(query)]
    return "\n".join([*lines, render_options(options)] if options else lines)


def _column(column: ColumnDef) -> str:
    return f"{quote_name(column.name)} {render_type(column.type)}" + ("" if column.nullable else " NOT NULL")


def render_type(type_: DataType) -> str:
    """A data type as this dialect writes it: as Spark's DDL, with the names of fields quoted only when needed."""
    match type_:
        case Array(element=element):
            return f"ARRAY<{render_type(element)}>"
        case Map(key=key, value=value):
            return f"MAP<{render_type(key)}, {render_type(value)}>"
        case Struct(fields=members):
            return "STRUCT<" + ", ".join(f"{quote_name(name)}: {render_type(member)}" for name, member in members) + ">"
        case _:
            return str(type_)
