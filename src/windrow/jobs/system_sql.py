"""SELECT over the system tables, by Polars: no Spark, nothing but these tables, and nothing is changed.

Given as JSON on standard input it runs in a process of its own (``python -m windrow.jobs.system_sql``), with an end to its time and
memory: a query may ask for more than a server has.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from windrow.errors import UsageError
from windrow.sql.dialect import Kind, Token, tokenize

if TYPE_CHECKING:
    import polars as pl

WRONG_QUERY = "WR952"
SCHEMA = "system"
MOST_ROWS = 10_000
_SECONDS, _BYTES = 20, 6 << 30
# What Polars would read files with, or make rows of nothing.
_REFUSED = re.compile(r"(read|scan|glob|generate)(_\w+)?", re.IGNORECASE)
_NAMES = (Kind.WORD, Kind.QUOTED, Kind.STRING)
_TYPES = {"text": "String", "number": "Int64", "real": "Float64", "truth": "Boolean", "time": "Int64"}

# Name of a column to its type; times are shown in UTC.
Columns = Mapping[str, str]


@dataclass(frozen=True)
class Result:
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    is_cut: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"columns": list(self.columns), "rows": [list(row) for row in self.rows], "is_cut": self.is_cut}


def tables_named(sql: str) -> list[str]:
    """The system tables that a text asks for, in order.

    >>> tables_named("SELECT j.name FROM system.jobs j JOIN system.batches USING (job)")
    ['jobs', 'batches']
    """
    tokens = tokenize(sql)
    return [tokens[at + 2].text.lower() for at in _places(tokens)]


def _places(tokens: list[Token]) -> Iterable[int]:
    for at in range(len(tokens) - 2):
        is_named = tokens[at].text.lower() == SCHEMA and tokens[at].kind in (Kind.WORD, Kind.QUOTED) and tokens[at + 1].key == "."
        if is_named and at and tokens[at - 1].key in ("FROM", "JOIN", ","):
            yield at


def checked(sql: str, known: Iterable[str]) -> tuple[str, list[str]]:
    """The query with the names that Polars is given, and the tables that it needs; refuses all but one SELECT over these."""
    tokens = tokens_of_select(sql)
    if not tokens:
        raise UsageError(WRONG_QUERY, "system tables answer one SELECT at a time", "SELECT name, observed FROM system.jobs")
    if (beyond := beyond_tables(tokens)) is not None:
        raise UsageError(WRONG_QUERY, f"{beyond} is not for system tables", _tables_hint(known))
    names = tables_named(sql)
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        close = get_close_matches(unknown, list(known), 1)
        meant = f"did you mean {SCHEMA}.{close[0]}? " if close else ""
        raise UsageError(WRONG_QUERY, f"there is no system table {unknown}", meant + _tables_hint(known))
    parts: list[str] = []
    done = 0
    for at in _places(tokens):
        name = tokens[at + 2].text.lower()
        is_aliased = has_alias(tokens, at + 3)
        # Without an alias its columns are asked for by the bare name.
        parts += [sql[done : tokens[at].start], f"{SCHEMA}_{name}", "" if is_aliased else f" AS {name}"]
        done = tokens[at + 2].end
    text = "".join([*parts, sql[done : tokens[-1].end]])
    return text, names


def tokens_of_select(sql: str) -> list[Token]:
    """The tokens of one SELECT; none where the text is something else."""
    tokens = [token for token in tokenize(sql) if token.kind is not Kind.END]
    while tokens and tokens[-1].key == ";":
        tokens.pop()
    is_one = bool(tokens) and tokens[0].key in ("SELECT", "WITH") and not any(token.key == ";" for token in tokens)
    return tokens if is_one else []


def beyond_tables(tokens: list[Token]) -> str | None:
    """What is called there that would read files, or make rows of nothing."""
    for token, after in pairwise(tokens):
        if after.key == "(" and token.kind in (Kind.WORD, Kind.QUOTED, Kind.STRING) and _REFUSED.fullmatch(token.text):
            return token.text
    return None


def has_alias(tokens: list[Token], at: int) -> bool:
    """Whether the token behind the name of a table names it anew."""
    return at < len(tokens) and tokens[at].kind in (Kind.WORD, Kind.QUOTED) and tokens[at].key not in _AFTER_A_TABLE


_AFTER_A_TABLE = frozenset(
    "WHERE GROUP ORDER LIMIT JOIN LEFT RIGHT FULL INNER CROSS OUTER ON USING HAVING UNION EXCEPT INTERSECT OFFSET QUALIFY WINDOW".split()
)


def _tables_hint(known: Iterable[str]) -> str:
    return f"there are {', '.join(f'{SCHEMA}.{name}' for name in known)}"


def run(sql: str, tables: Mapping[str, tuple[Columns, list[tuple[Any, ...]]]]) -> Result:
    """``sql`` is a checked text; the tables are those that it needs."""
    import polars as pl

    frames = {}
    for name, (columns, rows) in tables.items():
        schema = {column: getattr(pl, _TYPES[type_]) for column, type_ in columns.items()}
        frame = pl.DataFrame(rows, schema=schema, orient="row")
        times = [pl.from_epoch(column, time_unit="ms").alias(column) for column, type_ in columns.items() if type_ == "time"]
        frames[f"{SCHEMA}_{name}"] = frame.with_columns(times)
    return ask(sql, frames, lambda told: UsageError(WRONG_QUERY, told.replace(f"{SCHEMA}_", f"{SCHEMA}."), _columns_hint(tables)))


def ask(sql: str, frames: Mapping[str, pl.DataFrame], fault: Callable[[str], UsageError]) -> Result:
    """The answer of Polars; ``fault`` makes an error of what it says."""
    import polars as pl

    try:
        return result_of(pl.SQLContext(frames, eager=True).execute(sql))
    except Exception as error:
        if isinstance(error, pl.exceptions.PolarsError):
            told = next(iter(str(error).splitlines()), type(error).__name__)
            raise fault(f"the query cannot be answered: {told}") from None
        raise
    except BaseException as error:  # a panic of Polars is no Exception
        if type(error).__name__ != "PanicException":
            raise
        raise fault(f"the query cannot be answered: {error}") from None


def result_of(found: pl.DataFrame) -> Result:
    rows = tuple(tuple(map(_plain, row)) for row in found.head(MOST_ROWS).iter_rows())
    return Result(tuple(found.columns), rows, found.height > MOST_ROWS)


def _columns_hint(tables: Mapping[str, tuple[Columns, Any]]) -> str:
    return "; ".join(f"{SCHEMA}.{name} has {', '.join(columns)}" for name, (columns, _) in tables.items())


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int | bool):
        return value
    if isinstance(value, float):
        # JSON has no word for what is no number.
        return value if value == value and abs(value) != float("inf") else None
    if hasattr(value, "isoformat"):
        return value.isoformat(sep=" ") if hasattr(value, "hour") and hasattr(value, "year") else value.isoformat()
    return str(value)


def run_apart(sql: str, tables: Mapping[str, tuple[Columns, list[tuple[Any, ...]]]]) -> Result:
    """The same in a process of its own."""
    given = json.dumps({"sql": sql, "tables": {name: [dict(columns), rows] for name, (columns, rows) in tables.items()}})
    try:
        done = subprocess.run(
            [sys.executable, "-m", "windrow.jobs.system_sql"], input=given, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise UsageError(WRONG_QUERY, f"the query took longer than {_SECONDS} seconds", "ask for less: a WHERE, fewer joins") from None
    if done.returncode != 0:
        raise UsageError(WRONG_QUERY, "the query took more than there is for it", "ask for less: a WHERE, fewer joins")
    told = json.loads(done.stdout)
    if "error" in told:
        raise UsageError(WRONG_QUERY, told["error"], told["hint"])
    return Result(tuple(told["columns"]), tuple(map(tuple, told["rows"])), told["is_cut"])


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_BYTES, _BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    given = json.load(sys.stdin)
    tables = {name: (columns, [tuple(row) for row in rows]) for name, (columns, rows) in given["tables"].items()}
    try:
        print(json.dumps(run(given["sql"], tables).to_json()))
    except UsageError as error:
        print(json.dumps({"error": error.message, "hint": error.hint}))


if __name__ == "__main__":
    main()
