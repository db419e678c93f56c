"""Text to model: the first step of the flow, and the only importer of sqlglot.

Takes the text of a file and the values of its ``${...}`` placeholders. Gives a ``Script`` of the model's statements, in which
every node knows its place in the text, or one ``SqlError`` with every fault of the file. Gives text back too: ``format_script``
and ``render_expr`` print a model so that it reads as the same model again.

Must not know: which streams, columns or functions exist, what an option means, Spark, files, the process environment.

How it is built: ``dialect`` is a sqlglot dialect, of which the tokenizer is used; the grammar above it is our own, because
sqlglot's parser renames functions, keeps no place for most nodes, and accepts text that must be refused. From the outside in:
``script`` > ``statements`` > ``queries`` > ``sources``, ``clauses``, ``windows`` > ``expressions`` > ``primaries`` > ``calls``.
"""

from windrow.sql.canonical import canonical_layout
from windrow.sql.codes import SYNTAX_CODES
from windrow.sql.comments import format_with_comments
from windrow.sql.environment import fill, placeholders, substitute
from windrow.sql.format import format_script, format_statement
from windrow.sql.render import render_expr, render_query
from windrow.sql.script import (
    Reading,
    ends_statement,
    notes_of,
    parse,
    parse_assignments,
    parse_duration,
    parse_triggers,
    parse_type,
    read,
    read_source,
    unaffected,
)

__all__ = [
    "SYNTAX_CODES",
    "Reading",
    "canonical_layout",
    "ends_statement",
    "fill",
    "format_script",
    "format_statement",
    "format_with_comments",
    "notes_of",
    "parse",
    "parse_assignments",
    "parse_duration",
    "parse_triggers",
    "parse_type",
    "placeholders",
    "read",
    "read_source",
    "render_expr",
    "render_query",
    "substitute",
    "unaffected",
]
