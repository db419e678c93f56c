"""JSON lines that Spark's own reader reads: what comes out is what comes of their text, whatever stands in them."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import windrow
from windrow.connectors.files import json_fast_scan, source, split_balancing
from windrow.jobs.letters import read_letters
from windrow.spark.operators.speculative_scan import SpeculativeScan
from windrow.spark.query.runner import LazyRelation
from windrow.spark.state.backend import Gathered

AT = 1_700_000_000_000
SQL = """
CREATE STREAM s (k STRING, v {v}, price DOUBLE, exact DECIMAL(10, 2), day DATE, at TIMESTAMP, tags ARRAY<INT>, ok BOOLEAN, ts BIGINT)
WITH ('connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '0s');
CREATE STREAM out AS
  SELECT k, _window_start AS since, COUNT(*) AS n, SUM(v) AS v, MIN(price) AS low, SUM(exact) AS exact, MAX(day) AS day, MAX(at) AS at,
    SUM(size(tags)) AS tags, COUNT_IF(ok) AS ok
  FROM s GROUP BY k WINDOW TUMBLING(10s) WITH ('connector' = 'files', 'path' = '{folder}/{out}', 'format' = 'json');
"""
GOOD: dict[str, Any] = {
    "k": "a", "v": 1, "price": 1.5, "exact": 10.25, "day": "2026-01-02", "at": "2026-01-02T10:11:12Z", "tags": [1, 2], "ok": True,
}  # fmt: skip


def _good(second: int, **other: Any) -> bytes:
    return json.dumps({**GOOD, "ts": AT + second * 1000, **other}).encode()


# What a middle file has beside its good lines; true where the speculative scan holds for it.
ODD: dict[str, tuple[bytes, bool]] = {
    "nothing": (_good(12), True),
    "values of other kinds, which fit": (_good(12, k="ü", v=None, price=2, exact=3, tags=[]), True),
    "fields in another order, one unknown": (b'{"ts": %d, "other": [1, "x"], "k": "b", "v": 7}' % (AT + 12_000), True),
    "a field twice": (b'{"v": 1, "v": 2, "k": "a", "ts": %d}' % (AT + 12_000), True),
    "late": (_good(-60), True),
    "broken": (b'{"k": "a", "v"', False),
    "a value that does not fit": (_good(12, v="many"), False),
    "a number without an end": (_good(12, price=float("nan")), True),
    "text behind the object": (_good(12) + b" x", False),
    "two objects": (_good(12) + _good(13), False),
    "an array of objects": (b"[" + _good(12) + b", " + _good(13) + b"]", False),
    "an object in an object": (_good(12, other={"a": 1}), False),
    "a brace in a text": (_good(12, k="}"), False),
    "no object": (b"17", False),
    "null": (b"null", False),
    "blank lines": (_good(12) + b"\n \t\n\n" + _good(13), False),
    "lines of another system": (_good(12) + b"\r\n" + _good(13) + b"\r", False),
    "a line break within": (_good(12).replace(b", ", b",\r", 1), False),
    "bytes that are no text": (_good(12).replace(b'"a"', b'"\xff"'), False),
    "a zero byte": (_good(12).replace(b'"a"', b'"\x00"'), False),
    "a mark of its encoding": (b"\xef\xbb\xbf" + _good(12), False),
    "no time": (b'{"k": "a"}', False),
    "far in the future": (_good(10_000_000_000), False),
}


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each batch, whether the speculative scan held."""
    found: list[bool] = []
    ask = SpeculativeScan.ask

    def noting(
        self: SpeculativeScan, name: str, rows: LazyRelation, asking: Callable[[LazyRelation], Gathered]
    ) -> tuple[LazyRelation, Gathered]:
        given, gathered = ask(self, name, rows, asking)
        found.append(given is not rows)
        return given, gathered

    monkeypatch.setattr(SpeculativeScan, "ask", noting)
    return found


def _write(folder: Path, middle: bytes) -> None:
    (folder / "in").mkdir()
    ends = [b"\n".join([_good(0), _good(1, v=None), b""]), b"\n".join([_good(90), _good(30, k="late"), b""])]
    for number, data in enumerate([ends[0], _good(11) + b"\n" + middle + b"\n" + _good(14, k="b") + b"\n", ends[1]]):
        path = folder / "in" / f"{number}.json"
        path.write_bytes(data)
        os.utime(path, (1_700_000_000 + number,) * 2)


def _run(spark: SparkSession, folder: Path, out: str, sql: str, v: str) -> tuple[Any, ...]:
    jobs = windrow.run(sql.format(folder=folder, out=out, v=v), spark=spark, mode="once", state=folder / f"state-{out}")
    assert jobs.await_end(120)
    ledger = jobs.status()[0].ledger
    assert ledger.is_balanced
    rows = [line for path in sorted((folder / out).glob("batch-*.json")) for line in path.read_text().splitlines()]
    found = [dict(letter) for job in read_letters(folder / f"state-{out}") for letter in job.records]
    kept = ("code", "source", "statement", "batch", "raw", "row", "topic", "partition", "offset", "event_time")
    letters = sorted(str([letter.get(name) for name in kept]) for letter in found)
    return rows, letters, ledger.to_json()


def _both(spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch, sql: str = SQL, v: str = "INT") -> None:
    speculative = _run(spark, folder, "speculative", sql, v)
    with monkeypatch.context() as patch:
        patch.setattr(source, "speculative_source", lambda *_: None)
        by_text = _run(spark, folder, "text", sql, v)
    assert speculative == by_text
    assert speculative[0]


@pytest.mark.parametrize("odd", ODD)
def test_as_by_its_text(spark: SparkSession, tmp_path: Path, ways: list[bool], monkeypatch: pytest.MonkeyPatch, odd: str) -> None:
    middle, holds = ODD[odd]
    _write(tmp_path, middle)
    _both(spark, tmp_path, monkeypatch)
    # Once a batch had to be read by its text, so are the next.
    assert ways == [True, holds, holds]


def test_columns_that_nobody_asks_for(spark: SparkSession, tmp_path: Path, ways: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """They stay in the text of a row."""
    _write(tmp_path, _good(-60))
    _both(spark, tmp_path, monkeypatch, SQL[: SQL.index("CREATE STREAM out")] + ORDERED.format(mode="FINAL"))
    assert ways == []


def test_a_column_that_must_be_there(spark: SparkSession, tmp_path: Path, ways: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, _good(12))
    _both(spark, tmp_path, monkeypatch, v="INT NOT NULL")
    assert ways == [False] * 3


# Columns that nobody asks for are left in the text of their rows, so there are none.
NARROW = re.sub("price.*ok BOOLEAN, ", "", SQL[: SQL.index("CREATE STREAM out")])
ORDERED = """
CREATE STREAM out AS SELECT k, _window_start AS since, COUNT(*) AS n, SUM(v) AS v, FIRST(v) AS first, LAST(v) AS last, _revision AS r
  FROM s GROUP BY k WINDOW TUMBLING(10s) EMIT {mode} WITH ('connector' = 'files', 'path' = '{{folder}}/{{out}}', 'format' = 'json');
"""


@pytest.mark.parametrize("mode", ["FINAL", "CHANGES"])
@pytest.mark.parametrize("odd", ["late", "broken"])
def test_rows_in_their_order(
    spark: SparkSession, tmp_path: Path, ways: list[bool], monkeypatch: pytest.MonkeyPatch, odd: str, mode: str
) -> None:
    """A batch of all files, in the order in which these were written."""
    middle, holds = ODD[odd]
    _write(tmp_path, middle)
    for number, name in enumerate(("2.json", "0.json", "1.json")):
        os.utime(tmp_path / "in" / name, (1_700_000_000 + number,) * 2)
    _both(spark, tmp_path, monkeypatch, NARROW.replace("'1'", "'3'") + ORDERED.format(mode=mode))
    assert ways == [holds]


@pytest.mark.parametrize("count", ["COUNT(*) AS n, MAX(v) AS v", "SUM(v) AS v"])
def test_running_totals(spark: SparkSession, tmp_path: Path, ways: list[bool], monkeypatch: pytest.MonkeyPatch, count: str) -> None:
    _write(tmp_path, _good(-60))
    changes = ORDERED.format(mode="CHANGES").replace("COUNT(*) AS n, SUM(v) AS v, FIRST(v) AS first, LAST(v) AS last", count)
    _both(spark, tmp_path, monkeypatch, NARROW + changes)
    assert ways == [True] * 3


def test_statements_that_share_what_they_read(
    spark: SparkSession, tmp_path: Path, ways: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, _good(-60))
    wider = SQL[SQL.index("CREATE STREAM out") :].replace("out AS", "wider AS").replace("10s", "20s").replace("{out}", "{out}-wider")
    _both(spark, tmp_path, monkeypatch, SQL + wider)
    assert (tmp_path / "speculative-wider").exists()
    assert ways == [True] * 3


def test_a_batch_of_many_files(spark: SparkSession, tmp_path: Path, ways: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, _good(12))
    monkeypatch.setattr(json_fast_scan, "_MOST_PIECES", 2)
    _both(spark, tmp_path, monkeypatch, SQL.replace("'1'", "'3'"))
    assert ways == [False]


@pytest.mark.parametrize("mode", ["FINAL", "CHANGES"])
def test_files_that_are_cut_into_shares(
    spark: SparkSession, tmp_path: Path, ways: list[bool], monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """Shares end within lines, and hold ends of files. No row is set aside: those would be numbered within their share."""
    (tmp_path / "in").mkdir()
    for number in range(3):
        rows = [json.dumps({"k": "ab"[i % 2], "v": i, "ts": AT + (number * 100 + i) * 1000}) for i in range(50 + number)]
        (tmp_path / "in" / f"{number}.json").write_text("\n".join(rows) + "\n" * (number % 2))
        os.utime(tmp_path / "in" / f"{number}.json", (1_700_000_000 + number,) * 2)
    monkeypatch.setattr(split_balancing, "_LEAST", 500)
    cut: list[int] = []
    even_splits = split_balancing.even_splits

    def noting(*given: Any) -> Any:
        found = even_splits(*given)
        cut.append(0 if found is None else len(found))
        return found

    monkeypatch.setattr(json_fast_scan, "even_splits", noting)
    _both(spark, tmp_path, monkeypatch, NARROW.replace("'1'", "'3'") + ORDERED.format(mode=mode))
    assert ways == [True]
    assert cut == [4]


def test_packed_files(spark: SparkSession, tmp_path: Path, ways: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json.gz").write_bytes(gzip.compress(b"\n".join([_good(0), _good(30)])))
    _both(spark, tmp_path, monkeypatch)
    assert ways == [False]
