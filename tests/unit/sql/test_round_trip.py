"""Every query of ``queries.sql`` reads, prints, and reads back as the same model; every node knows its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from windrow.model.expr import Call, Column, Expr, Literal, Node, Star
from windrow.model.options import Option, Options
from windrow.model.query import NamedSource, Select
from windrow.model.statement import Annotation, Script, SelectStatement
from windrow.model.window import EventTime
from windrow.sql import format_script, parse, render_expr

_TEXT = (Path(__file__).parent / "queries.sql").read_text(encoding="utf-8")
_QUERIES = _TEXT.strip().split("\n\n")[1:]


def _nodes(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
        for spec in fields(value):
            yield from _nodes(getattr(value, spec.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)


def _text_of(script: Script, node: Node) -> str:
    assert node.span is not None, node
    return script.source.text[node.span.start : node.span.end]


@pytest.mark.parametrize("sql", _QUERIES)
def test_reads_back_as_the_same_model(sql: str) -> None:
    script = parse(sql)
    text = format_script(script)
    again = parse(text)
    assert again.statements == script.statements
    assert format_script(again) == text


@pytest.mark.parametrize("sql", _QUERIES)
def test_every_node_knows_its_place(sql: str) -> None:
    script = parse(sql)
    for node in _nodes(script.statements):
        is_implied = (isinstance(node, Options) and not node) or (isinstance(node, EventTime) and node.column is None)
        if not is_implied:
            _check_place(script, node)


def _check_place(script: Script, node: Node) -> None:
    text = _text_of(script, node)
    assert text == text.strip()
    match node:
        case Column(name=name) if name not in ("_window_start", "_window_end"):
            assert text.replace("``", "`").replace('""', '"').rstrip('`"').endswith(name.rstrip('`"'))
        case Star():
            assert text.endswith("*")
        case NamedSource(name=name):
            assert text.strip('`"') == name
        case Annotation(key=key, value=value):
            assert re.fullmatch(rf"--\s*@{key}:\s*{re.escape(value)}", text)
        case Option(key=key):
            assert text.strip("'") == key
        case Literal(value=str() as value):
            assert value.lower() in text.lower()
        case Call(name=name, name_span=name_span):
            assert name_span is not None
            word = script.source.text[name_span.start : name_span.end]
            assert text.startswith(word)
            is_special = name in ("date_part", "btrim", "ltrim", "rtrim", "array", "named_struct", "make_ym_interval")
            assert is_special or word.strip("`") == name
        case _:
            pass


def _expr(sql: str) -> Expr:
    statement = parse(f"SELECT {sql}").statements[0]
    assert isinstance(statement, SelectStatement)
    assert isinstance(statement.query, Select)
    return statement.query.items[0].expr


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("(a)+(b*c)", "a + b * c"),
        ("(a+b)*c", "(a + b) * c"),
        ("a-(b-c)-d", "a - (b - c) - d"),
        ("- - 5", "-(-5)"),
        ("a - -5", "a - -5"),
        ("-a::int", "-CAST(a AS INT)"),
        ("not a = b and c", "NOT a = b AND c"),
        ("not (a and b)", "NOT (a AND b)"),
        ("(not a) = b", "(NOT a) = b"),
        ("a or b and c", "a OR b AND c"),
        ("(a or b) and c", "(a OR b) AND c"),
        ("a = b is null", "(a = b) IS NULL"),
        ("a is null = b", "(a IS NULL) = b"),
        ("a between 1 and 2 and b", "a BETWEEN 1 AND 2 AND b"),
        ("a between (b and c) and d", "a BETWEEN (b AND c) AND d"),
        ("a<>b", "a != b"),
        ("a==b", "a = b"),
        ("a||b+c", "a || b + c"),
        ("a & b | c ^ d", "a & b | c ^ d"),
        ("a & (b | c)", "a & (b | c)"),
        ("x is true", "x IS NOT DISTINCT FROM TRUE"),
        ("a.b.c", "a.b.c"),
        ("(a).b", "(a).b"),
        ("p:a.b[0]['k'].`odd k`", "p:a.b[0]['k']['odd k']"),
        ("(p:a).b", "(p:a).b"),
        ("m['a'][0].f", "m['a'][0].f"),
        ("5m", "INTERVAL '5' MINUTE"),
        ("250ms", "INTERVAL '0.25' SECOND"),
        ("interval '-90' second", "INTERVAL '-90' SECOND"),
        ("interval 1 hour 30 minutes", "INTERVAL '90' MINUTE"),
        ("interval '1 hour 30 minutes'", "INTERVAL '90' MINUTE"),
        ("interval '1 02:03:04' day to second", "INTERVAL '93784' SECOND"),
        ("interval '02:30' hour to minute", "INTERVAL '150' MINUTE"),
        ("interval '14' month", "make_ym_interval(1, 2)"),
        ("1e3", "1000.0e0"),
        ("1.50", "1.50"),
        (".5", "0.5"),
        ("'it''s'", "'it''s'"),
        ("extract(hour from ts)", "date_part('hour', ts)"),
        ("trim(both 'x' from s)", "btrim(s, 'x')"),
        ("trim('x' from s)", "btrim(s, 'x')"),
        ("trim(leading 'x' from s)", "ltrim('x', s)"),
        ("trim(trailing from s)", "rtrim(s)"),
        ("Trim(s)", "Trim(s)"),
        ("position('a' in s)", "position('a', s)"),
        ("substring(s from 2 for 3)", "substring(s, 2, 3)"),
        ("overlay(s placing 'x' from 1 for 2)", "overlay(s, 'x', 1, 2)"),
        ("date '2026-01-01'", "CAST('2026-01-01' AS DATE)"),
        ("current_timestamp", "current_timestamp()"),
        ("tumble_start()", "_window_start"),
        ("SESSION_END()", "_window_end"),
        ("array[1, 2]", "array(1, 2)"),
        ("struct(1 as a, b)", "named_struct('a', 1, 'b', b)"),
        ("exists(xs, x -> x > 0)", "exists(xs, x -> x > 0)"),
        ("fold(xs, 0, (a, x) -> a + x)", "fold(xs, 0, (a, x) -> a + x)"),
        ("Percentile_Cont(0.5) within group (order by v)", "Percentile_Cont(0.5) WITHIN GROUP (ORDER BY v)"),
        ("count(distinct a, b) filter (where c)", "count(DISTINCT a, b) FILTER (WHERE c)"),
        ("lag(x ignore nulls) over (order by t)", "lag(x) IGNORE NULLS OVER (ORDER BY t)"),
        ("sum(x) over (rows 2 preceding)", "sum(x) OVER (ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)"),
        ("not exists (select 1)", "NOT EXISTS (SELECT 1)"),
        ("not (exists (select 1)) is not null", "NOT (EXISTS (SELECT 1) IS NOT NULL)"),
        ("x not in (select a from b)", "x NOT IN (SELECT a FROM b)"),
        ("cast(a as map<string,array<int>>)", "CAST(a AS MAP<STRING,ARRAY<INT>>)"),
    ],
)
def test_rendering(sql: str, expected: str) -> None:
    expr = _expr(sql)
    assert render_expr(expr) == expected
    assert _expr(expected) == expr


def test_layout_is_canonical() -> None:
    text = (
        "-- @owner: me\n"
        "create stream out with ('connector' = 'kafka') as select symbol s primary key, count(*) from trades t limit 5 "
        "emit changes where price > 1 window hop(ts, 10m, interval '1' minute) having count(*) > 2 group by symbol order by 2 desc"
    )
    assert format_script(parse(text)) == (
        "-- @owner: me\n"
        "CREATE STREAM out AS\n"
        "SELECT symbol AS s PRIMARY KEY, count(*)\n"
        "FROM trades AS t\n"
        "WHERE price > 1\n"
        "GROUP BY symbol\n"
        "WINDOW SLIDING(10m, 1m) ON EVENT_TIME(ts)\n"
        "HAVING count(*) > 2\n"
        "ORDER BY 2 DESC\n"
        "LIMIT 5\n"
        "EMIT CHANGES\n"
        "WITH ('connector' = 'kafka');\n"
    )
