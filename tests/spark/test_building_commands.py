"""``windrow apply --strategy rebuild`` and ``blue-green`` as typed: what is asked, what is refused, and what is there afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from tests.spark.test_cut_overs import SOURCE, Folder
from windrow.cli.main import app
from windrow.jobs.identity import read_card
from windrow.storage import LocalFolder

OLD = "k, 0 AS s, 0 AS e, COUNT(*) AS n FROM t GROUP BY k"
NEW = "k, 0 AS s, 0 AS e, COUNT(*) AS n, SUM(v) AS total FROM t WHERE v > 3 GROUP BY k"


class Desk:
    """A file of statements with a job of two batches, and the commands over it, in the session of the tests."""

    def __init__(self, folder: Folder) -> None:
        self.folder, self.file = folder, folder.path / "q.sql"
        folder.put(2)
        folder.run(OLD)
        self.write(NEW)

    def write(self, query: str) -> None:
        self.file.write_text(SOURCE.format(folder=self.folder.path, query=query))

    def __call__(self, command: str, *words: str, typed: str = "", code: int = 0) -> str:
        given = [command, str(self.file), "--state", str(self.folder.path / "state"), *words]
        done = CliRunner().invoke(app, given, input=typed)
        assert done.exit_code == code, done.output
        return done.output

    @property
    def version(self) -> int:
        return int(read_card(LocalFolder(self.folder.path / "state" / "q")).get("version", 1))


@pytest.fixture
def desk(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr("windrow.cli.spark_start.start_spark", lambda *_, **__: spark)
    monkeypatch.setattr("windrow.spark.internals.java_process.stop_session", lambda _: None)
    return Desk(Folder(spark, tmp_path, "resident"))


def test_both_texts_are_compared_and_nothing_is_swapped_without_a_yes(desk: Desk) -> None:
    assert "or --strategy rebuild: the state is made anew from the sources" in desk("apply", "--yes", code=2)
    assert "nothing was changed" not in desk("apply", "--strategy", "blue-green", typed="n\n", code=1)
    told = desk("apply", "--strategy", "blue-green", "--no-watch", typed="y\nn\n", code=1)
    assert "building the state of job q anew from 20 rows" in told
    assert "are of the old text alone" in told
    assert told.endswith("Swap? [y/N]: n\nnothing was changed\n")
    assert desk.version == 1
    told = desk("apply", "--strategy", "blue-green", "--no-watch", "-m", "large ones", typed="y\ny\n")
    assert "job q is version 2 from batch 2 on" in told
    assert desk.version == 2
    assert "nothing has changed" in desk("plan")
    desk.folder.put(1)
    desk.folder.run(NEW)
    for (key, _, _), row in desk.folder.said().items():
        own = [v for k, v, _ in map(desk.folder.row, range(30)) if k == key and v > 3]
        assert (row["n"], row["total"]) == (len(own), sum(own))
    assert "back to version 1" in desk("rollback", "--yes")
    told = desk("history")
    assert "large ones" in told
    assert desk.version == 3


def test_rows_that_are_gone_are_missed(desk: Desk) -> None:
    lost = desk.folder.path / "in" / "0.json"
    text = lost.read_text()
    lost.unlink()
    told = desk("apply", "--strategy", "rebuild", "--yes", code=2)
    assert "it has read 20 rows, and its sources give 10 of them now" in told
    assert desk.version == 1
    lost.write_text(text)
    assert "job q is version 2" in desk("apply", "--strategy", "rebuild", "--yes", "--no-watch")


def test_what_cannot_be_built_is_refused_before_anything_is_read(desk: Desk) -> None:
    assert "'rebild' is not one of" in desk("apply", "--strategy", "rebild", code=2)
    desk.file.write_text(desk.file.read_text().replace("/in'", "/elsewhere'"))
    told = desk("apply", "--strategy", "rebuild", "--yes", code=2)
    assert "WR673" in told
    assert "building" not in told
    assert desk.version == 1
