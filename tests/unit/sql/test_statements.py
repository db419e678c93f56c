"""What statements and clauses become in the model."""

from __future__ import annotations

import pytest

from windrow.model import types
from windrow.model.expr import Binary, Column, Literal
from windrow.model.notes import Metric, MetricType
from windrow.model.options import Option, Options
from windrow.model.query import JoinKind, Query, Select, Union, Within
from windrow.model.statement import (
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
from windrow.model.types import Array, ColumnDef, DataType, Decimal, Map, Struct
from windrow.model.window import DAY, HOUR, MILLI, MINUTE, SECOND, WEEK
from windrow.sql import parse, parse_duration, parse_type

_ONE = Select((parse("SELECT 1").statements[0].query.items[0],))  # type: ignore[union-attr]  # known to be a SELECT
_KAFKA = Options((Option("connector", "kafka"),))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "CREATE STREAM s (a INT NOT NULL, b ARRAY<STRING>) WITH ('connector' = 'kafka')",
            CreateStream("s", (ColumnDef("a", types.INT, False), ColumnDef("b", Array(types.STRING))), _KAFKA),
        ),
        ("CREATE STREAM s WITH (connector = 'kafka')", CreateStream("s", (), _KAFKA)),
        ("CREATE STREAM s (a INT)", CreateStream("s", (ColumnDef("a", types.INT),), Options())),
        ("CREATE STREAM s AS SELECT 1", CreateStreamAs("s", _ONE)),
        ("CREATE STREAM s AS SELECT 1 WITH ('connector' = 'kafka')", CreateStreamAs("s", _ONE, _KAFKA)),
        ("CREATE STREAM s AS (SELECT 1) WITH ('connector' = 'kafka')", CreateStreamAs("s", _ONE, _KAFKA)),
        ("CREATE STREAM s WITH ('connector' = 'kafka') AS SELECT 1", CreateStreamAs("s", _ONE, _KAFKA)),
        ("CREATE STREAM s AS SELECT 1 UNION SELECT 1 WITH ('connector' = 'kafka')", CreateStreamAs("s", Union(_ONE, _ONE, False), _KAFKA)),
        (
            "CREATE TABLE t (a INT, b INT, PRIMARY KEY (a, b)) WITH ('connector' = 'kafka')",
            CreateTable("t", (ColumnDef("a", types.INT), ColumnDef("b", types.INT)), ("a", "b"), _KAFKA),
        ),
        ("CREATE TABLE t (a INT PRIMARY KEY)", CreateTable("t", (ColumnDef("a", types.INT),), ("a",), Options())),
        ("CREATE TABLE t AS SELECT 1", CreateTableAs("t", _ONE)),
        (
            "CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON AS 'm:f'",
            CreateFunction("f", (ColumnDef("x", types.DOUBLE),), types.DOUBLE, "m:f"),
        ),
        ("CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS 'm:f'", CreateFunction("f", (), types.INT, "m:f")),
        ("INSERT INTO t SELECT 1", InsertInto("t", _ONE)),
        ("SELECT 1", SelectStatement(_ONE)),
        ("(SELECT 1)", SelectStatement(_ONE)),
        ("EXPLAIN SELECT 1", Explain(SelectStatement(_ONE))),
        ("EXPLAIN ANALYZE SELECT 1", Explain(SelectStatement(_ONE), options=ExplainOptions(analyze=True))),
        ("EXPLAIN TOPOLOGY SELECT 1", Explain(SelectStatement(_ONE), options=ExplainOptions(topology=True))),
        (
            "EXPLAIN (FORMAT JSON, VERBOSE, ANALYZE) SELECT 1",
            Explain(SelectStatement(_ONE), options=ExplainOptions(analyze=True, verbose=True, format="JSON")),
        ),
        ("show streams", Show("STREAMS")),
        ("SHOW FUNCTIONS", Show("FUNCTIONS")),
        ("SHOW FUNCTIONS LIKE 'to%'", Show("FUNCTIONS", "to%")),
        ("desc t", Describe("t")),
        ("INSERT INTO t (a, `b c`) SELECT 1", InsertInto("t", _ONE, (Column("a"), Column("b c")))),
        ("SHOW JOBS", Show("JOBS")),
        ("DESCRIBE `odd name`", Describe("odd name")),
        ("DROP STREAM s", Drop("STREAM", "s")),
        ("DROP TABLE IF EXISTS t", Drop("TABLE", "t", True)),
    ],
)
def test_statements(sql: str, expected: Statement) -> None:
    assert parse(sql).statements == (expected,)


def _query(sql: str) -> Query:
    statement = parse(sql).statements[0]
    assert isinstance(statement, SelectStatement)
    return statement.query


def _select(sql: str) -> Select:
    query = _query(sql)
    assert isinstance(query, Select)
    return query


def test_options_of_a_bare_select_stay_with_it() -> None:
    assert _select("SELECT a FROM t WITH ('connector' = 'kafka') LIMIT 1").options == _KAFKA


def test_options_keep_values_as_written() -> None:
    options = _select("SELECT a FROM t WITH ('a' = 5, b.c = -1.5, 'd' = 10s, \"e\" = TRUE, 'f' = 'it''s')").options
    assert [(option.key, option.value) for option in options] == [("a", "5"), ("b.c", "-1.5"), ("d", "10s"), ("e", "true"), ("f", "it's")]


@pytest.mark.parametrize(
    ("join", "kind", "within"),
    [
        ("JOIN u ON a = b", JoinKind.INNER, None),
        ("INNER JOIN u USING (a)", JoinKind.INNER, None),
        ("LEFT OUTER JOIN u ON a = b WITHIN 5m", JoinKind.LEFT, Within(5 * MINUTE, 5 * MINUTE)),
        ("RIGHT JOIN u WITHIN (1 HOUR, 2s) ON a = b", JoinKind.RIGHT, Within(HOUR, 2 * SECOND)),
        ("FULL JOIN u WITHIN INTERVAL '1' DAY ON a = b", JoinKind.FULL, Within(DAY, DAY)),
        ("CROSS JOIN u", JoinKind.CROSS, None),
        (", u", JoinKind.CROSS, None),
    ],
)
def test_joins(join: str, kind: JoinKind, within: Within | None) -> None:
    (found,) = _select(f"SELECT 1 FROM t {join} WHERE x").joins
    assert (found.kind, found.within) == (kind, within)


def test_keywords_are_ordinary_names_where_nothing_else_is_meant() -> None:
    names = "timestamp value date window rows key status stream table first last interval limit emit offset trigger primary left filter"
    select = _select(f"SELECT {', '.join(names.split())} FROM stream")
    assert [item.expr for item in select.items] == [Column(name) for name in names.split()]


def test_clauses_come_in_any_order() -> None:
    one = _select("SELECT a FROM t WHERE b GROUP BY a WINDOW TUMBLING(5m) HAVING c ORDER BY d LIMIT 1 EMIT FINAL")
    other = _select("SELECT a FROM t EMIT FINAL LIMIT 1 ORDER BY d HAVING c WINDOW TUMBLING(5m) GROUP BY a WHERE b")
    assert one == other


def test_annotations_belong_to_the_statement_below() -> None:
    script = parse("-- @a: 1\n/* -- @no: 1 */\n-- not one\nSELECT 1; -- @b: two words \n\n--@c-d:\nSELECT 2 -- @inside: no")
    assert [[(note.key, note.value) for note in statement.annotations] for statement in script.statements] == [
        [("a", "1")],
        [("b", "two words"), ("c-d", "")],
    ]


def test_strings_keep_backslashes() -> None:
    assert _select(r"SELECT 'a\n\'").items[0].expr == Literal(r"a\n\ ".strip())


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("500ms", 500 * MILLI),
        ("30s", 30 * SECOND),
        (" 5m ", 5 * MINUTE),
        ("1H", HOUR),
        ("2d", 2 * DAY),
        ("1w", WEEK),
        ("7us", 7),
        ("1.5h", 90 * MINUTE),
        ("10", 10 * SECOND),
        ("0.5", 500 * MILLI),
        ("0", 0),
        ("5 minutes", 5 * MINUTE),
        ("INTERVAL '5' MINUTE", 5 * MINUTE),
        ("interval 5 minutes", 5 * MINUTE),
        ("INTERVAL '5 minutes'", 5 * MINUTE),
        ("", None),
        ("soon", None),
        ("5x", None),
        ("-5s", None),
        ("5s 5s", None),
        ("1e3s", None),
        ("0.0000001s", None),
        ("99999999999999w", None),
        ("INTERVAL '1' MONTH", None),
        ("'", None),
    ],
)
def test_durations(text: str, micros: int | None) -> None:
    assert parse_duration(text) == micros


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int", types.INT),
        ("LONG", types.BIGINT),
        ("double precision", types.DOUBLE),
        ("VARCHAR(20)", types.STRING),
        ("TIMESTAMP(3)", types.TIMESTAMP),
        ("TIMESTAMP WITH LOCAL TIME ZONE", types.TIMESTAMP),
        ("TIMESTAMP WITHOUT TIME ZONE", types.TIMESTAMP_NTZ),
        ("DECIMAL", Decimal()),
        ("numeric(12)", Decimal(12)),
        ("DECIMAL(18, 2)", Decimal(18, 2)),
        ("ARRAY<ARRAY<INT>>", Array(Array(types.INT))),
        ("MAP<STRING,STRUCT<`a b`: INT, c STRING>>", Map(types.STRING, Struct((("a b", types.INT), ("c", types.STRING))))),
        ("STRUCT<>", None),
        ("ARRAY", None),
        ("INT INT", None),
        ("DECIMAL(5,9)", None),
        ("", None),
    ],
)
def test_types(text: str, expected: DataType | None) -> None:
    assert parse_type(text) == expected
    if expected is not None:
        assert parse_type(str(expected)) == expected


def test_annotations_are_typed_values() -> None:
    text = (
        "-- @App: risk\n-- @team: ours\n-- @metric: n\n-- @metric: h\n-- @metric_type: histogram\n-- @metric_field: v\n"
        "-- @metric_buckets: [1, 2.5]\n-- @metric_labels: k, s\n-- @metric_condition: v > 1\n-- @metric_sample_rate: 0.5\nSELECT 1"
    )
    notes = parse(text).statements[0].notes
    assert (notes.app, notes.owner, notes.others) == ("risk", None, (("team", "ours"),))
    condition = Binary(">", Column("v"), Literal(1))
    histogram = Metric("h", MetricType.HISTOGRAM, "", ("k", "s"), condition, "v", (1.0, 2.5), 0.5)
    assert notes.metrics == (Metric("n"), histogram)
