"""Avro records: each is read by the schema it names, and one that names none, or lies, is a dead letter with its bytes."""

from __future__ import annotations

import json
import struct
from datetime import UTC, datetime
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from fastavro import parse_schema, schemaless_writer
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from tests.integration.conftest import Broker
from tests.integration.registry import USER, registry
from tests.integration.topics import Record, Runner, only, options, send
from windrow.cli.main import app
from windrow.errors import JobError

FIRST: dict[str, Any] = {
    "type": "record",
    "name": "Trade",
    "fields": [
        {"name": "symbol", "type": "string"},
        {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
SECOND = {**FIRST, "fields": [*FIRST["fields"], {"name": "tags", "type": ["null", {"type": "array", "items": "string"}]}]}
COLUMNS = "(symbol STRING, price DECIMAL(10, 2), at TIMESTAMP, tags ARRAY<STRING>)"
AT = datetime(2026, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC)
OUT = "CREATE STREAM out AS SELECT symbol, price, at, tags, _key AS k, _offset AS o FROM s WITH ('connector' = 'memory');"


def written(schema: dict[str, Any], number: int | None, **fields: Any) -> bytes:
    stream = BytesIO()
    if number is not None:
        stream.write(struct.pack(">bI", 0, number))
    schemaless_writer(stream, parse_schema(schema), fields)
    return stream.getvalue()


@pytest.fixture
def run(spark: SparkSession, tmp_path: Path) -> Runner:
    return Runner(spark, tmp_path)


def test_records_that_name_their_schema(broker: Broker, run: Runner) -> None:
    topic = broker.topic(partitions=1)
    good = written(FIRST, 1, symbol="a", price=Decimal("1.10"), at=AT)
    newer = written(SECOND, 2, symbol="b", price=Decimal("2.00"), at=AT, tags=["x"])
    bad = [struct.pack(">bI", 0, 9) + good[5:], b"garbage", b"\0\0", good[:-3], good + b"!", None, b'{"symbol": "a"}']
    key = struct.pack(">bI", 0, 3) + bytes([2]) + b"k"
    send(broker, topic, [Record(good, 0, key), Record(newer), *map(Record, bad)])
    with registry({1: FIRST, 2: SECOND, 3: "string"}) as url:
        more = {"schema__registry__url": url, "schema__registry__basic__auth__user__info": USER, "key__format": "avro"}
        sql = f"CREATE STREAM s {COLUMNS} WITH ({options(broker, topic, format='avro', **more)}); {OUT}"
        found = run.rows(sql)
    assert only(found, "symbol", "price", "at", "tags", "k", "o") == [
        ("a", Decimal("1.10"), AT, None, '"k"', 0),
        ("b", Decimal("2.00"), AT, ["x"], None, 1),
    ]
    assert sorted(only(run.dead_letters(), "offset", "raw")) == [(2 + number, value) for number, value in enumerate(bad)]


def test_a_record_whose_schema_was_missing_is_read_when_it_goes_back(broker: Broker, run: Runner, tmp_path: Path) -> None:
    topic = broker.topic(partitions=1)
    newer = written(SECOND, 2, symbol="b", price=Decimal("2.00"), at=AT, tags=["x"])
    send(broker, topic, [Record(newer), Record(b"garbage")])
    more = {"schema__registry__basic__auth__user__info": USER}
    file = tmp_path / "job.sql"
    for schemas, found in (({1: FIRST}, []), ({1: FIRST, 2: SECOND}, [("b", Decimal("2.00"), ["x"])])):
        with registry(schemas) as url:
            file.write_text(
                f"-- @name: job\n"
                f"CREATE STREAM s {COLUMNS} WITH ({options(broker, topic, format='avro', schema__registry__url=url, **more)}); {OUT}"
            )
            assert only(run.rows(file.read_text(), mode="once"), "symbol", "price", "tags") == found
            letters = ["dead-letters", "replay", str(file), "--state", str(tmp_path / "state")]
            done = CliRunner().invoke(app, letters)
            assert done.exit_code == 0, done.output
    assert [(letter["offset"], letter["raw"]) for letter in run.dead_letters()] == [(0, newer), (1, b"garbage"), (1, b"garbage")]


def test_records_of_one_schema_from_a_file(broker: Broker, run: Runner, tmp_path: Path) -> None:
    topic = broker.topic(partitions=1)
    (tmp_path / "trade.avsc").write_text(json.dumps(FIRST))
    send(broker, topic, [Record(written(FIRST, None, symbol="a", price=Decimal("1.10"), at=AT)), Record(b'{"symbol": "a"}')])
    sql = (
        f"CREATE STREAM s {COLUMNS} WITH ({options(broker, topic, format='avro', avro__schema__file=str(tmp_path / 'trade.avsc'))}); {OUT}"
    )
    assert only(run.rows(sql), "symbol", "price") == [("a", Decimal("1.10"))]
    assert only(run.dead_letters(), "raw") == [(b'{"symbol": "a"}',)]


def test_a_registry_that_is_gone_is_no_fault_of_a_record(broker: Broker, run: Runner) -> None:
    """The job stops, and goes on with the same record when the registry is back."""
    topic = broker.topic(partitions=1)
    send(broker, topic, [Record(written(FIRST, 1, symbol="a", price=Decimal("1.10"), at=AT))])
    more = {"schema__registry__basic__auth__user__info": USER}
    with registry({1: FIRST}, fails_on_schemas=True) as url:
        sql = f"CREATE STREAM s {COLUMNS} WITH ({options(broker, topic, format='avro', schema__registry__url=url, **more)}); {OUT}"
        with pytest.raises(JobError, match=r"\[WR869\] could not look up schema 1"):
            run.rows(sql)
    assert run.dead_letters() == []
    with registry({1: FIRST}) as url:
        sql = f"CREATE STREAM s {COLUMNS} WITH ({options(broker, topic, format='avro', schema__registry__url=url, **more)}); {OUT}"
        assert only(run.rows(sql), "symbol") == [("a",)]


def test_a_registry_that_refuses_is_told_without_the_password(broker: Broker, run: Runner) -> None:
    with registry({}) as url:
        more = {"schema__registry__url": url, "schema__registry__basic__auth__user__info": "user:wrong"}
        sql = f"CREATE STREAM s {COLUMNS} WITH ({options(broker, broker.topic(), format='avro', **more)}); {OUT}"
        with pytest.raises(JobError, match=r"\[WR869\] could not ask for schemas at the schema registry") as refused:
            run.rows(sql)
    assert "wrong" not in str(refused.value)
