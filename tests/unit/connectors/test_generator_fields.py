"""The language of fields.<column>, checked without Spark."""

from __future__ import annotations

import pytest

from windrow.connectors.generator.fields import default_field, fields_for, parse_field, validate_fields
from windrow.connectors.generator.settings import check_settings, read_settings
from windrow.errors import UsageError
from windrow.model.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    TINYINT,
    ColumnDef,
    Decimal,
    Struct,
)

COLUMNS = (
    ColumnDef("Symbol", STRING, nullable=False),
    ColumnDef("price", DOUBLE),
    ColumnDef("volume", INT),
    ColumnDef("tiny", TINYINT),
    ColumnDef("ok", BOOLEAN),
    ColumnDef("ts", TIMESTAMP),
    ColumnDef("amount", Decimal(5, 2)),
    ColumnDef("inner", Struct((("a", INT),))),
)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("symbol", "choice(A, B:2, 'C, D', \"E\":0.5)"),
        ("symbol", "pattern('it''s-####')"),
        ("symbol", " UUID "),
        ("symbol", "sequence(1, 2)"),
        ("symbol", "event_time(iso8601)"),
        ("price", "uniform(-1.5, 1e3) null 0.5"),
        ("price", "walk(100, 0.1, symbol)"),
        ("volume", "uniform(1, 1)"),
        ("volume", "event_time(seconds)"),
        ("tiny", "choice(-128, 127)"),
        ("ok", "constant(TRUE)"),
        ("ts", "event_time null 0.1"),
        ("amount", "constant(999.99)"),
        ("inner.a", "sequence"),
    ],
)
def test_good_fields(key: str, text: str) -> None:
    assert validate_fields(COLUMNS, {f"fields.{key}": text, "rows": "1"}) == []


@pytest.mark.parametrize(
    ("key", "text", "part"),
    [
        ("symbol", "chioce(a)", 'did you mean "choice"?'),
        ("symbol", "", "cannot read"),
        ("symbol", "uuid extra", "cannot read"),
        ("symbol", "choice()", "at least one value"),
        ("symbol", "choice(a,,b)", "missing"),
        ("symbol", "choice(a, b,)", "missing"),
        ("symbol", "choice(a:0, b:0)", "add up to nothing"),
        ("symbol", "uuid null 0.1", "NOT NULL"),
        ("symbol", "uniform(1, 2)", "gives numbers"),
        ("symbl", "uuid", 'did you mean "Symbol"?'),
        ("price", "uniform(1)", "uniform(low, high)"),
        ("price", "uniform(2, 1)", "runs backwards"),
        ("price", "uniform(a, 1)", '"a" is not a number'),
        ("price", "normal(1, -1)", "less than 0"),
        ("price", "normal(1, inf)", "not a number"),
        ("price", "uniform(1, 2) null 2", "share"),
        ("price", "uuid", "gives text"),
        ("price", "walk(1, 1, nope)", 'no column "nope"'),
        ("price", "walk(1, 1, price)", "by itself"),
        ("volume", "uniform(1.5, 2)", "whole numbers"),
        ("volume", "uniform(0, 3000000000)", "holds -2147483648"),
        ("volume", "event_time(millis)", "seconds only"),
        ("tiny", "choice(1, 200)", '"200" is no value of tiny'),
        ("ok", "choice(yes, no)", '"yes" is no value'),
        ("ok", "event_time", "cannot hold a time"),
        ("ts", "event_time(millis)", "without a unit"),
        ("ts", "event_time(hours)", "the units are"),
        ("amount", "constant(1000)", "no value of amount"),
        ("inner", "sequence", "no column"),
    ],
)
def test_wrong_fields_say_what_is_wrong(key: str, text: str, part: str) -> None:
    findings = validate_fields(COLUMNS, {f"fields.{key}": text})
    assert [finding[0] for finding in findings] == [f"fields.{key}"]
    assert part in findings[0][1]


def test_all_findings_come_at_once() -> None:
    assert len(validate_fields(COLUMNS, {"fields.price": "x", "fields.volume": "y", "fields.nope": "uuid"})) == 3


def test_every_column_has_a_field() -> None:
    fields = fields_for(COLUMNS, {"fields.PRICE": "constant(1)"})
    assert set(fields) == {"symbol", "price", "volume", "tiny", "ok", "ts", "amount", "inner.a"}
    assert fields["price"] == parse_field("constant(1)")
    assert fields["ts"] == parse_field("event_time")
    assert fields["symbol"] == parse_field("pattern('Symbol-#')")
    assert validate_fields((ColumnDef("amount", Decimal(2, 2)),), {}) == []
    assert default_field(ColumnDef("id", BIGINT)) == parse_field("sequence")


@pytest.mark.parametrize(
    ("columns", "options", "time"),
    [
        ((ColumnDef("ts", BIGINT),), {}, "ts"),
        ((ColumnDef("ts", BIGINT), ColumnDef("at", TIMESTAMP)), {}, "at"),
        ((ColumnDef("ts", BIGINT), ColumnDef("at", BIGINT)), {"event.time.field": "AT"}, "at"),
    ],
)
def test_which_column_is_the_event_time(columns: tuple[ColumnDef, ...], options: dict[str, str], time: str) -> None:
    fields = fields_for(columns, options)
    assert [name for name, field in fields.items() if field == parse_field("event_time")] == [time]


def test_settings() -> None:
    settings = read_settings({"rows.per.second": "3"})
    assert (settings.rows, settings.interval.numerator, settings.interval.denominator) == (None, 1_000_000, 3)
    assert read_settings({"rows.per.second": "max"}).interval == 1000
    assert read_settings({"rows.per.second": "0"}).rows_per_second is None
    assert read_settings({"start.time": "2026-01-01T01:00:00+01:00"}).start == 1_767_225_600_000_000


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rows", "-1"), ("rows", "1.5"), ("rows.per.second", "fast"), ("rows.per.second", "-1"), ("seed", str(2**63)), ("partitions", "0"),
        ("start.time", "yesterday"), ("disorder", "5 parsecs"), ("late.share", "2"), ("bad.share", "x"), ("event.interval", "-1s"),
    ],
)  # fmt: skip
def test_wrong_settings(key: str, value: str) -> None:
    assert [finding[0] for finding in check_settings({key: value})] == [key]
    with pytest.raises(UsageError, match="WR531"):
        read_settings({key: value})
