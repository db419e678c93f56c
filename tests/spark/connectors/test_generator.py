"""The generator: the same rows for the same seed, however they are cut."""

from __future__ import annotations

import json
import re
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark.connectors.conftest import Run
from windrow.connectors.generator.runtime import open_source
from windrow.connectors.runtime import SourceRequest, SourceStream
from windrow.errors import UsageError
from windrow.model.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Array,
    ColumnDef,
    DataType,
    Decimal,
    Map,
    Struct,
)

TRADES = (ColumnDef("symbol", STRING), ColumnDef("price", DOUBLE), ColumnDef("volume", INT), ColumnDef("ts", TIMESTAMP))


def source(
    spark: SparkSession, options: dict[str, str], columns: tuple[ColumnDef, ...] = TRADES, *, is_bounded: bool = True
) -> SourceStream:
    return open_source(spark, SourceRequest("trades", columns, options, is_bounded))


def rows_of(batches: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return sorted((row for batch in batches for row in batch), key=lambda row: int(row["_seq"]))


def values_of(batches: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [json.loads(row["_raw"]) for row in rows_of(batches)]


def test_batches_and_restarts_do_not_change_the_rows(spark: SparkSession, run: Run) -> None:
    options = {
        "rows": "50", "seed": "7", "partitions": "2", "bad.share": "0.1", "disorder": "5s", "late.share": "0.1",
        "fields.price": "walk(100, 0.5, symbol)", "fields.volume": "normal(50, 10) null 0.2",
    }  # fmt: skip
    whole = rows_of(run(source(spark, options).frame, "whole"))
    cut = run(source(spark, {**options, "rows.per.batch": "20"}).frame, "cut")
    assert len(whole) == 50
    assert [len(batch) for batch in cut] == [20, 20, 10]
    assert rows_of(cut) == whole
    first = run(source(spark, {**options, "rows": "20"}).frame, "again")
    rest = run(source(spark, options).frame, "again")
    assert rows_of(first + rest) == whole, "a restart goes on with the next row"
    assert rows_of(run(source(spark, {**options, "rows": "10", "seed": "8"}).frame, "other")) != whole[:10]
    assert [(row["_partition"], row["_offset"]) for row in whole[:4]] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert run(source(spark, options).frame, "whole") == [], "everything has been read"


def test_columns_hold_what_the_fields_say(spark: SparkSession, run: Run) -> None:
    types: dict[str, DataType] = {
        "id": BIGINT, "s": STRING, "u": DOUBLE, "i": SMALLINT, "n": DOUBLE, "c": STRING, "k": INT, "w": Decimal(10, 2), "t": BIGINT,
        "id2": STRING, "p": STRING, "b": BOOLEAN, "f": FLOAT, "x": STRING, "when": STRING, "nothing": INT,
    }  # fmt: skip
    columns = tuple(ColumnDef(name, type_) for name, type_ in types.items())
    fields = {
        "s": "sequence(100, -5)", "u": "uniform(-1, 1)", "i": "uniform(3, 5)", "n": "normal(10, 2)", "c": "choice(a:8, 'b, c':2)",
        "k": "constant(42)", "w": "walk(100, 0.1, c)", "t": "event_time(seconds)", "id2": "uuid", "p": "pattern('U?^-##\\#')",
        "f": "uniform(0, 10)", "x": "choice(x, y) null 0.5", "when": "event_time", "nothing": "constant(1) null 1",
    }  # fmt: skip
    options = {"rows": "2000", "rows.per.second": "4", **{f"fields.{name}": text for name, text in fields.items()}}
    rows = values_of(run(source(spark, options, columns).frame))
    assert [row["id"] for row in rows] == list(range(2000))
    assert [row["s"] for row in rows[:3]] == ["100", "95", "90"]
    assert all(-1 <= row["u"] < 1 for row in rows)
    assert abs(sum(row["u"] for row in rows) / 2000) < 0.1
    assert {row["i"] for row in rows} == {3, 4, 5}
    assert abs(sum(row["n"] for row in rows) / 2000 - 10) < 0.3
    assert 0.75 < sum(row["c"] == "a" for row in rows) / 2000 < 0.85
    assert {row["c"] for row in rows} == {"a", "b, c"}
    assert {row["k"] for row in rows} == {42}
    walk = [row["w"] for row in rows if row["c"] == "a"]
    assert all(abs(a - b) < 1.5 for a, b in pairwise(walk)), "a walk does not jump"
    assert len(set(walk)) > 50
    assert [row["t"] for row in rows[:5]] == [1767225600, 1767225600, 1767225600, 1767225600, 1767225601]
    assert all(re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", row["id2"]) for row in rows)
    assert len({row["id2"] for row in rows}) == 2000
    assert all(re.fullmatch(r"U[a-z][A-Z]-\d\d#", row["p"]) for row in rows)
    assert 0.4 < sum(row["x"] is None for row in rows) / 2000 < 0.6
    assert rows[1]["when"] == "2026-01-01T00:00:00.250000Z"
    assert {row["nothing"] for row in rows} == {None}
    assert {type(row["b"]) for row in rows} == {bool}


def test_every_type_has_a_default(spark: SparkSession, run: Run) -> None:
    types: list[DataType] = [
        STRING, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, Decimal(4, 2), BOOLEAN, DATE, TIMESTAMP, TIMESTAMP_NTZ, BINARY, Array(INT),
        Map(STRING, DOUBLE), Struct((("a", INT), ("b", Struct((("c", STRING),))))), Array(Struct((("z", BOOLEAN),))),
    ]  # fmt: skip
    columns = tuple(ColumnDef(f"c{number}", type_) for number, type_ in enumerate(types))
    options = {"rows": "3", "fields.c14.b.c": "constant(deep)", "start.time": "1969-12-31T23:59:59.9Z", "event.interval": "1s"}
    row = values_of(run(source(spark, options, columns).frame))[0]
    assert all(value is not None for value in row.values())
    assert row["c8"] == "1969-12-31", "times before 1970 round down"
    assert row["c9"] == "1969-12-31T23:59:59.900000Z"
    assert row["c10"] == "1969-12-31T23:59:59.900000"
    assert row["c14"]["b"] == {"c": "deep"}
    assert len(row["c12"]) == 3


def test_a_column_named_as_event_time_gets_it(spark: SparkSession, run: Run) -> None:
    columns = (ColumnDef("at", BIGINT), ColumnDef("v", INT))
    rows = values_of(run(source(spark, {"rows": "2", "event.time.field": "at", "event.interval": "500ms"}, columns).frame))
    assert [row["at"] for row in rows] == [1767225600000, 1767225600500]


def test_late_future_and_bad_rows_have_their_share(spark: SparkSession, run: Run) -> None:
    options = {
        "rows": "3000", "event.interval": "1s", "disorder": "5s", "late.share": "0.1", "late.by": "1h", "future.share": "0.05",
        "future.by": "2d", "bad.share": "0.1",
    }  # fmt: skip
    columns = (ColumnDef("ts", BIGINT), ColumnDef("name", STRING))
    good, bad, shifts = 0, 0, []
    for row in rows_of(run(source(spark, options, columns).frame)):
        try:
            value = json.loads(row["_raw"])
        except ValueError:
            bad += 1
            continue
        good += 1
        shifts.append(1767225600_000 + row["_seq"] * 1000 - value["ts"])
    assert 200 < bad < 400
    assert 0.07 < sum(3_600_000 <= shift <= 3_605_000 for shift in shifts) / good < 0.13
    assert 0.03 < sum(shift < -86_400_000 for shift in shifts) / good < 0.07
    assert all(0 <= shift <= 5000 or shift > 3_590_000 or shift < -86_400_000 for shift in shifts)


def test_other_columns_are_not_computed(spark: SparkSession) -> None:
    frame = source(spark, {"rows": "10"}).frame
    analyzed = frame.select("_partition")._jdf.queryExecution().analyzed()
    # Asked of the optimizer itself: the plan of a stream that nobody starts is refused, unless a setting of the session allows it.
    plan = spark._jsparkSession.sessionState().optimizer().execute(analyzed).toString()
    assert "to_json" in analyzed.toString()
    assert "to_json" not in plan


def test_the_rate_is_kept_in_a_run_without_end(spark: SparkSession, tmp_path: Path) -> None:
    frame = source(spark, {"rows.per.second": "100"}, is_bounded=False).frame
    counts: list[int] = []

    def take(batch: DataFrame, _: int) -> None:
        counts.append(batch.count())

    started = time.monotonic()
    query = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "cp")).start()
    try:
        while sum(counts) < 100 and time.monotonic() < started + 60:
            query.awaitTermination(1)
        elapsed = time.monotonic() - started
    finally:
        query.stop()
    assert 100 <= sum(counts) <= elapsed * 100 + 1


def test_refusals(spark: SparkSession) -> None:
    with pytest.raises(UsageError, match="WR532") as caught:
        source(spark, {})
    assert "'rows' = " in str(caught.value)
    with pytest.raises(UsageError, match="WR530"):
        source(spark, {"rows": "1", "fields.price": "unifrom(1, 2)"})
    with pytest.raises(UsageError, match="WR531"):
        source(spark, {"rows": "many"})
