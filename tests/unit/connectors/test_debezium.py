"""Envelopes of Debezium: what row each of them is, and which are none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from windrow.connectors.debezium import EnvelopeSettings, envelope_reader
from windrow.model.types import BIGINT, DATE, STRING, TIMESTAMP, ColumnDef

ROW = {"id": 1, "name": "a"}
# 2023-11-14 22:13:20 UTC
AT = 1_700_000_000_000


def settings(*columns: ColumnDef, **options: str) -> EnvelopeSettings:
    return EnvelopeSettings.of(columns, {key.replace("__", "."): value for key, value in options.items()})


PLAIN = settings(ColumnDef("id", BIGINT))


def read(envelope: Any, chosen: EnvelopeSettings = PLAIN) -> Any:
    text = envelope if isinstance(envelope, bytes) else json.dumps(envelope).encode()
    found = envelope_reader(chosen)(text)
    return None if found is None else json.loads(found)


def change(op: str, before: Any, after: Any, **more: Any) -> dict[str, Any]:
    return {"before": before, "after": after, "source": {"table": "t", "ts_ms": AT}, "op": op, "ts_ms": AT + 5, **more}


@pytest.mark.parametrize(
    ("envelope", "row"),
    [
        (change("c", None, ROW), {**ROW, "_op": "c"}),
        (change("r", None, ROW), {**ROW, "_op": "r"}),
        (change("u", {"id": 1, "name": "old"}, ROW), {**ROW, "_op": "u"}),
        (change("d", ROW, None), {**ROW, "_op": "d"}),
        (change("c", None, {}), {"_op": "c"}),
        ({"op": "c", "after": ROW}, {**ROW, "_op": "c"}),
        ({"payload": {"op": "c", "after": ROW}}, {**ROW, "_op": "c"}),
        ({"schema": None, "payload": change("d", ROW, None)}, {**ROW, "_op": "d"}),
        # A member of the same name that is another object, before the one that counts.
        ({"source": {"after": {"x": 1}}, "after": ROW, "op": "c"}, {**ROW, "_op": "c"}),
    ],
)
def test_the_row_of_an_envelope(envelope: Any, row: dict[str, Any]) -> None:
    assert read(envelope) == row


@pytest.mark.parametrize(
    "bad",
    [
        {},
        [],
        None,
        ROW,
        {"op": "c"},
        {"op": "x", "after": ROW},
        {"op": ["c"], "after": ROW},
        {"op": "c", "after": [1]},
        {"op": "u", "after": None, "before": ROW},
        {"op": "d", "before": None, "after": ROW},
        {"payload": None},
        {"payload": "text"},
        {"schema": {"fields": 3}, "payload": {"op": "c", "after": ROW}},
        b"",
        b"\xff",
        b'{"op":"c","after":{"a":1}} x',
        b'{"op":"c","after":{"a":NaN}}',
        b'{"op":"c","after":{"a":1}',
        b"[" * 100_000,
    ],
    ids=str,
)
def test_what_is_no_envelope(bad: Any) -> None:
    assert read(bad) is None


def test_text_is_cut_out_as_it_stands() -> None:
    text = b'{"op": "c", "after": {"n": 1.10000000000000000000000001, "e": 1e3, "t": "\\u00e9"}}'
    assert envelope_reader(PLAIN)(text) == '{"n": 1.10000000000000000000000001, "e": 1e3, "t": "\\u00e9","_op":"c"}'


def with_schema(fields: list[dict[str, Any]], row: dict[str, Any]) -> dict[str, Any]:
    images = [{"type": "struct", "fields": fields, "field": image, "optional": True} for image in ("before", "after")]
    schema = {"type": "struct", "fields": [*images, {"type": "string", "field": "op"}], "name": "Envelope"}
    return {"schema": schema, "payload": change("u", row, row)}


def test_a_schema_says_what_values_mean() -> None:
    def of(name: str, **more: Any) -> dict[str, Any]:
        return {"type": "int64", "optional": True, "name": name, **more}

    decimal = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
    fields = [
        {**of("io.debezium.time.Timestamp"), "field": "ms"},
        {**of("io.debezium.time.MicroTimestamp"), "field": "us"},
        {**of("io.debezium.time.NanoTimestamp"), "field": "ns"},
        {**of("org.apache.kafka.connect.data.Timestamp"), "field": "none"},
        {**of("io.debezium.time.Date"), "field": "day"},
        {**of("io.debezium.time.MicroTime"), "field": "clock"},
        {**of("io.debezium.time.Timestamp"), "field": "never"},
        {**decimal, "field": "price"},
        {"type": "struct", "name": "io.debezium.data.VariableScaleDecimal", "field": "number"},
        {"type": "array", "items": decimal, "field": "prices"},
        {"type": "string", "field": "name"},
    ]
    row = {
        "ms": AT,
        "us": AT * 1000 + 7,
        "ns": AT * 1_000_000 + 7999,
        "none": None,
        "day": 19_000,
        "clock": 3_723_000_004,
        "never": 9_223_372_036_854_775_807,
        "price": "AQk=",
        "number": {"scale": 3, "value": "/w=="},
        "prices": ["AQk=", "ZA=="],
        "name": "a",
    }
    wanted = {
        "ms": "2023-11-14T22:13:20.000000Z",
        "us": "2023-11-14T22:13:20.000007Z",
        "ns": "2023-11-14T22:13:20.000007Z",
        "none": None,
        "day": "2022-01-08",
        "clock": "01:02:03.000004",
        "never": "9223372036854775807 ms",
        "price": 2.65,
        "number": -0.001,
        "prices": [2.65, 1.0],
        "name": "a",
        "_op": "u",
    }
    chosen = settings(ColumnDef("ms", TIMESTAMP))
    assert read(with_schema(fields, row), chosen) == wanted
    assert read(with_schema(fields, row), chosen) == wanted, "as well by the schema that was read before"
    assert '"prices":[2.65,1.00]' in str(envelope_reader(chosen)(json.dumps(with_schema(fields, row)).encode()))
    assert read(with_schema(fields[:1], row), chosen)["us"] == AT * 1000 + 7, "each envelope by its own schema"


def test_numbers_without_a_schema_are_times_where_times_are_declared() -> None:
    columns = (ColumnDef("at", TIMESTAMP), ColumnDef("day", DATE), ColumnDef("n", BIGINT))
    row = {"at": AT, "day": 1, "n": AT}
    wanted = {"at": "2023-11-14T22:13:20.000000Z", "day": "1970-01-02", "n": AT, "_op": "c"}
    assert read(change("c", None, row), settings(*columns)) == wanted
    for number in (AT * 1000, AT * 1_000_000):
        assert read(change("c", None, {**row, "at": number}), settings(*columns)) == wanted
    assert read(change("c", None, {**row, "at": 1}), settings(*columns, debezium__time__unit="us"))["at"] == "1970-01-01T00:00:00.000001Z"
    assert read(change("c", None, {**row, "at": "2026-01-01T00:00:00Z"}), settings(*columns))["at"] == "2026-01-01T00:00:00Z"


def test_what_else_an_envelope_says_is_there_for_those_who_list_it() -> None:
    chosen = settings(ColumnDef("_before", STRING), ColumnDef("_source", STRING), ColumnDef("_changed_at", TIMESTAMP))
    source = {"table": "t", "ts_ms": AT}
    wanted = {**ROW, "_op": "u", "_before": {"id": 1}, "_source": source, "_changed_at": "2023-11-14T22:13:20.000000Z"}
    assert read(change("u", {"id": 1}, ROW), chosen) == wanted
    assert read({"op": "c", "after": ROW, "ts_us": AT * 1000 + 3}, chosen)["_changed_at"] == "2023-11-14T22:13:20.000003Z"
    assert read({"op": "c", "after": ROW}, chosen) == {**ROW, "_op": "c", "_changed_at": None}
