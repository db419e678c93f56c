"""Rows from Python: what ``windrow.sql`` gives and what a running job shows."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import windrow
from windrow.errors import UsageError
from windrow.jobs.rows import KeptRows, Rows

TRADES = """
CREATE STREAM trades (symbol STRING, price DOUBLE, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis');
"""


@pytest.fixture
def trades(tmp_path: Path) -> str:
    folder = tmp_path / "in"
    folder.mkdir()
    for file in range(2):
        rows = [{"symbol": "A<b>", "price": file + n / 3, "ts": (file * 10 + n) * 1000} for n in range(4)]
        path = folder / f"{file}.json"
        path.write_text("\n".join(map(json.dumps, rows)))
        os.utime(path, (1_700_000_000 + file, 1_700_000_000 + file))
    return TRADES.format(folder=folder)


def test_rows_come_as_every_kind_of_frame(spark: SparkSession, trades: str) -> None:
    rows = windrow.sql(trades + "SELECT symbol, COUNT(*) AS n FROM trades GROUP BY symbol WINDOW TUMBLING(10s)", spark=spark)
    expected = [{"symbol": "A<b>", "n": 4}, {"symbol": "A<b>", "n": 4}]
    assert list(rows) == expected
    assert len(rows) == 2
    assert rows.to_arrow().to_pylist() == expected
    assert rows.to_polars().to_dicts() == expected
    assert [row.asDict() for row in rows.to_spark().collect()] == expected
    assert "A&lt;b&gt;" in rows._repr_html_()
    assert repr(rows).splitlines()[0] == "out · 2 rows"


def test_rows_of_a_filter_and_of_a_named_statement(
    spark: SparkSession, trades: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        trades
        + f"""
        CREATE STREAM dear AS SELECT price FROM trades WHERE price > 1
          WITH ('connector' = 'files', 'path' = '{tmp_path}/dear', 'format' = 'json');
        SELECT price AS cheap FROM trades WHERE price <= 1;"""
    )
    dear = windrow.sql(text, name="DEAR", spark=spark)
    written = [json.loads(line)["price"] for path in (tmp_path / "dear").glob("batch-*.json") for line in path.read_text().splitlines()]
    assert sorted(row["price"] for row in dear) == sorted(written) == pytest.approx([4 / 3, 5 / 3, 2.0])
    assert capsys.readouterr().out == ""


def test_a_running_job_shows_its_rows_and_itself(
    spark: SparkSession, trades: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = trades + "CREATE STREAM copies AS SELECT symbol, price FROM trades WITH ('connector' = 'memory')"
    jobs = windrow.run(text, spark=spark, mode="until_end", state=tmp_path / "state", keep=5)
    assert jobs.await_end(show=True)
    assert jobs.outputs == ["copies"]
    rows = jobs.output()
    assert (len(rows), rows.dropped) == (5, 3)
    assert [row["price"] for row in jobs.preview("copies", rows=2)] == pytest.approx([1 + 2 / 3, 2.0])
    assert repr(jobs).startswith("job copies ended · batch ")
    assert "8 rows in" in repr(jobs)
    assert "<td>copies</td><td>ended</td>" in jobs._repr_html_()
    assert "job copies ended" in capsys.readouterr().err
    with pytest.raises(UsageError) as caught:
        jobs.output("nothing")
    assert caught.value.code == "WR641"


def test_rows_that_were_not_kept_cannot_be_had(spark: SparkSession, trades: str, tmp_path: Path) -> None:
    jobs = windrow.run(trades + "SELECT price FROM trades", spark=spark, mode="until_end", state=tmp_path / "state")
    jobs.await_end()
    with pytest.raises(UsageError) as caught:
        jobs.output()
    assert caught.value.code == "WR640"


def test_sql_that_is_wrong_says_so_before_spark_starts() -> None:
    with pytest.raises(windrow.SqlError):
        windrow.sql("SELECT nothing FROM nowhere")


def test_pandas_is_asked_for_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError) as caught:
        Rows("t", pa.table({"a": [1]})).to_pandas()
    assert caught.value.code == "WR642"


def test_rows_need_a_session_to_become_a_data_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    with pytest.raises(UsageError) as caught:
        Rows("t", pa.table({"a": [1]})).to_spark()
    assert caught.value.code == "WR643"


def test_a_batch_that_comes_twice_is_kept_once() -> None:
    kept = KeptRows(3)
    for batch, values in ((0, [1, 2]), (1, [3]), (1, [3]), (2, [4, 5])):
        kept.take("t", batch, pa.table({"a": values}))
    rows = kept.rows("t", pa.table({}), None)
    assert (rows.to_polars()["a"].to_list(), rows.dropped) == ([3, 4, 5], 2)
    assert isinstance(rows.to_polars(), pl.DataFrame)


def test_the_notebook_of_the_examples_runs(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    notebook = json.loads((root / "examples" / "notebook.ipynb").read_text(encoding="utf-8"))
    names: dict[str, object] = {"spark": spark}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert names["balanced"] is True
