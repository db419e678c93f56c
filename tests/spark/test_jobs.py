"""Jobs from folder to folder: once, until the end, resumed, refused; and the ledger that adds up."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import windrow
from tests.openlineage_classes import read_back
from windrow.errors import JobError, UsageError
from windrow.observe.status import ENDED, JobStatus

SOURCE = """
CREATE STREAM trades (symbol STRING, price DOUBLE NOT NULL, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '1s'{extra}
);
"""
QUERY = """
CREATE STREAM candles AS
  SELECT symbol, _window_start AS s, COUNT(*) AS n, MAX(price) AS high, _emission AS kind FROM trades
  WHERE price > 0 GROUP BY symbol WINDOW TUMBLING(10s)
  WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json');
"""


def _write(folder: Path, name: str, rows: list[Any]) -> None:
    target = folder / "in"
    target.mkdir(exist_ok=True)
    (target / name).write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    # Files are taken in the order of their times, and these were written within a millisecond: their names decide.
    stamp = 1_700_000_000 + int(name.split(".")[0])
    os.utime(target / name, (stamp, stamp))


def _run(spark: SparkSession, folder: Path, mode: Any = "until_end", query: str = QUERY, extra: str = "") -> JobStatus:
    sql = (SOURCE + query).format(folder=folder, extra=extra)
    jobs = windrow.run(sql, spark=spark, mode=mode, state=folder / "state")
    assert jobs.await_end(120)
    return jobs.status()[0]


def _rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for path in sorted((folder / "out").glob("batch-*.json")) for line in path.read_text().splitlines()]


def _letters(folder: Path) -> list[dict[str, Any]]:
    return [row for path in sorted((folder / "state").glob("*/dead_letters/*.parquet")) for row in pq.read_table(path).to_pylist()]


def _trade(symbol: str, price: float | None, at: int) -> dict[str, Any]:
    return {"symbol": symbol, "price": price, "ts": at}


INSERTS = """
CREATE STREAM all_rows (what STRING, value DOUBLE) WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json');
INSERT INTO all_rows SELECT symbol, price FROM trades WHERE price > 1;
INSERT INTO all_rows (value, what) SELECT COUNT(*), 'count' FROM trades WINDOW TUMBLING(10s);
"""


def test_several_inserts_write_one_file_a_batch(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path, "1.json", [_trade("A", 1.0, 1000), _trade("B", 2.0, 2000)])
    _write(tmp_path, "2.json", [_trade("C", 3.0, 15_000)])
    status = _run(spark, tmp_path, query=INSERTS)
    assert status.ledger.is_balanced
    rows = sorted((row["what"], row["value"]) for row in _rows(tmp_path))
    assert rows == [("B", 2.0), ("C", 3.0), ("count", 1.0), ("count", 2.0)]


def test_a_run_tells_its_lineage(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path, "1.json", [_trade("A", 1.0, 1000), _trade("B", 2.0, 2000)])
    sql = (SOURCE + QUERY).format(folder=tmp_path, extra="")
    events = tmp_path / "lineage.jsonl"
    jobs = windrow.run(sql, spark=spark, mode="until_end", state=tmp_path / "state", settings={"lineage.url": str(events)})
    assert jobs.await_end(120)
    told = [json.loads(line) for line in events.read_text().splitlines()]
    assert [one["eventType"] for one in told] == ["START", "COMPLETE"]
    assert len({read_back(one).run.runId for one in told}) == 1
    last = told[-1]
    assert last["inputs"][0]["inputFacets"]["inputStatistics"]["rowCount"] == 2
    assert last["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] == 2


def test_a_python_function_beside_the_file_runs_and_fails_clearly(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rates.py").write_text("FACTOR = 2\n")
    (tmp_path / "pricing.py").write_text(
        "import pyarrow.compute as pc\nimport rates\n"
        "def double(x):\n    if pc.any(pc.equal(x, 13.0)).as_py():\n        raise ValueError('unlucky')\n"
        "    return pc.multiply(x, rates.FACTOR)\n"
    )
    monkeypatch.chdir(tmp_path)
    query = """
    CREATE FUNCTION my_double(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON AS 'pricing:double';
    CREATE STREAM o AS SELECT my_double(price) AS p FROM trades WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json');
    """
    _write(tmp_path, "1.json", [_trade("A", 1.5, 1000)])
    _run(spark, tmp_path, "once", query)
    assert [row["p"] for row in _rows(tmp_path)] == [3.0]
    _write(tmp_path, "2.json", [_trade("A", 13.0, 2000)])
    with pytest.raises(JobError, match="the function my_double failed: ValueError: unlucky") as caught:
        _run(spark, tmp_path, "once", query)
    assert caught.value.code == "WR840"


def test_every_row_is_somewhere(spark: SparkSession, tmp_path: Path) -> None:
    far = 4_102_444_800_000  # the year 2100
    _write(
        tmp_path, "1.json", [_trade("A", 1.0, 1000), _trade("A", 5.0, 2000), _trade("B", -1.0, 3000), "{not json", _trade("B", 2.0, far)]
    )
    _write(tmp_path, "2.json", [_trade("A", 2.0, 15_000), _trade("A", None, 15_000), {"symbol": "A", "price": 3.0, "ts": None}])
    _write(tmp_path, "3.json", [_trade("A", 9.0, 4000), {"symbol": "A", "price": "dear", "ts": 16_000}])
    status = _run(spark, tmp_path)
    assert status.state == ENDED
    assert [(row["symbol"], row["n"], row["high"]) for row in _rows(tmp_path)] == [("A", 2, 5.0), ("A", 1, 2.0)]
    source, statement = status.ledger.sources["trades"], status.ledger.statements["candles"]
    assert status.ledger.is_balanced
    assert (source.rows_in, source.passed) == (10, 5)
    assert dict(source.dead) == {"WR701": 1, "WR702": 2, "WR703": 1, "WR704": 1}
    assert (statement.rows_in, statement.passed, statement.filtered, dict(statement.dead)) == (5, 3, 1, {"WR705": 1})
    letters = _letters(tmp_path)
    assert len(letters) == 6
    assert next(letter["raw"] for letter in letters if letter["code"] == "WR701") == b"{not json"
    late = next(letter for letter in letters if letter["code"] == "WR705")
    assert json.loads(late["row"]) == {"symbol": "A", "price": 9.0, "ts": 4000}
    assert late["topic"].endswith("3.json")


def test_once_keeps_windows_open_and_the_next_run_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path, "1.json", [_trade("A", 1.0, 1000)])
    assert _run(spark, tmp_path, "once").open_windows == 1
    assert _rows(tmp_path) == []
    _write(tmp_path, "2.json", [_trade("A", 2.0, 2000), _trade("A", 3.0, 12_000)])
    status = _run(spark, tmp_path, "once")
    assert [(row["n"], row["high"]) for row in _rows(tmp_path)] == [(2, 2.0)]
    assert status.rows_in == 3


def test_running_again_after_the_end_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path, "1.json", [_trade("A", 1.0, 1000)])
    _run(spark, tmp_path)
    before = _rows(tmp_path)
    assert _run(spark, tmp_path).state == ENDED
    assert _rows(tmp_path) == before


def test_new_rows_after_the_end_are_refused_and_not_lost(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path, "1.json", [_trade("A", 1.0, 1000)])
    _run(spark, tmp_path)
    _write(tmp_path, "2.json", [_trade("A", 1.0, 2000)])
    with pytest.raises(JobError, match="WR820"):
        _run(spark, tmp_path)


def test_state_of_other_statements_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path, "1.json", [_trade("A", 1.0, 1000)])
    _run(spark, tmp_path, "once")
    with pytest.raises(UsageError, match="WR804"):
        _run(spark, tmp_path, "once", QUERY.replace("10s", "20s"))


def test_a_second_run_is_refused_while_the_first_lives(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path, "1.json", [_trade("A", 1.0, 1000)])
    sql = (SOURCE + QUERY).format(folder=tmp_path, extra="")
    jobs = windrow.run(sql, spark=spark, state=tmp_path / "state")
    try:
        with pytest.raises(UsageError, match=r"WR805.*running already: process"):
            windrow.run(sql, spark=spark, state=tmp_path / "state")
    finally:
        jobs.stop()
    assert _run(spark, tmp_path, "once").batch_id == 0


@pytest.mark.parametrize(("policy", "code"), [("'bad.rows' = 'fail'", "WR701"), ("'event.time.on_missing' = 'fail'", "WR703")])
def test_policy_fail_stops_the_job(spark: SparkSession, tmp_path: Path, policy: str, code: str) -> None:
    _write(tmp_path, "1.json", ["{", {"symbol": "A", "price": 1.0, "ts": None}])
    with pytest.raises(JobError, match=code):
        _run(spark, tmp_path, extra=f", {policy}")


def test_policy_drop_is_counted(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path, "1.json", ["{", _trade("A", 1.0, 1000)])
    status = _run(spark, tmp_path, extra=", 'bad.rows' = 'drop'")
    assert dict(status.ledger.sources["trades"].dropped) == {"WR701": 1}
    assert status.ledger.is_balanced
    assert _letters(tmp_path) == []


def test_stateless_statement_is_accounted_for_too(spark: SparkSession, tmp_path: Path) -> None:
    _write(tmp_path, "1.json", [_trade("A", 1.0, 1000), _trade("B", -1.0, 1000), "{"])
    query = """CREATE STREAM cheap AS SELECT symbol, price * 2 AS twice FROM trades WHERE price > 0
               WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json');"""
    status = _run(spark, tmp_path, query=query)
    assert _rows(tmp_path) == [{"symbol": "A", "twice": 2.0}]
    account = status.ledger.statements["cheap"]
    assert (account.rows_in, account.filtered, account.emitted) == (2, 1, 1)
    assert status.ledger.is_balanced


@pytest.mark.parametrize(
    ("expr", "condition"),
    [("1 / (price - 1)", "DIVIDE_BY_ZERO"), ("CAST(price * 300 AS TINYINT)", "CAST_OVERFLOW")],
    ids=["division", "cast"],
)
def test_error_policy_decides_about_what_cannot_be(spark: SparkSession, tmp_path: Path, expr: str, condition: str) -> None:
    _write(tmp_path, "1.json", [_trade("A", 1.0, 1000)])
    query = """CREATE STREAM q AS SELECT {expr} AS x FROM trades
               WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json'{policy});""".replace("{expr}", expr)
    _run(spark, tmp_path, query=query.replace("{policy}", ""))
    assert _rows(tmp_path) == [{"x": None}]
    with pytest.raises(JobError, match=condition):
        _run(spark, tmp_path, query=query.replace("STREAM q", "STREAM r").replace("{policy}", ", 'error.policy' = 'fail'"))
