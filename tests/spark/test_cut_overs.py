"""A changed query on the real engine: windows before the cut are of the old text, later ones of the new, and every row is counted once."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import windrow
from windrow.changes import Strategy
from windrow.jobs.authors import git_commit, user_name
from windrow.jobs.building import building
from windrow.jobs.switching import switches_in

SOURCE = """
CREATE STREAM t (k STRING, v INT, ts BIGINT) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1',
  'event.time.field' = 'ts', 'event.time.format' = 'epoch_millis', 'watermark.delay' = '5s');
CREATE TABLE names (k STRING, name STRING, PRIMARY KEY (k)) WITH ('connector' = 'files', 'path' = '{folder}/names', 'format' = 'json');
CREATE STREAM o AS SELECT {query} WITH ('connector' = 'files', 'path' = '{folder}/out', 'format' = 'json');
"""
BEFORE = "k, _window_start AS s, _window_end AS e, COUNT(*) AS n, SUM(v) AS total FROM t{where} GROUP BY k WINDOW {window}"
Values = tuple[int, int]


class Folder:
    """A job over files of rows two seconds apart, ten in each."""

    def __init__(self, spark: SparkSession, path: Path, home: str) -> None:
        self.spark, self.path, self.home, self.files = spark, path, home, 0
        for name in ("in", "names"):
            (path / name).mkdir(parents=True)
        (path / "names" / "n.json").write_text('{"k": "a", "name": "A"}\n{"k": "b", "name": "B"}\n')

    def put(self, files: int) -> None:
        for _ in range(files):
            rows = [self.row(number) for number in range(self.files * 10, self.files * 10 + 10)]
            place = self.path / "in" / f"{self.files}.json"
            place.write_text("".join(json.dumps({"k": k, "v": v, "ts": at}) + "\n" for k, v, at in rows))
            os.utime(place, (1_700_000_000 + self.files, 1_700_000_000 + self.files))
            self.files += 1

    @staticmethod
    def row(number: int) -> tuple[str, int, int]:
        """Every other row comes four seconds late."""
        return "ab"[number % 3 % 2], number % 7, max(0, number * 2000 - number % 2 * 4000)

    def compiled(self, query: str) -> Any:
        return windrow.compile(SOURCE.format(folder=self.path, query=query), name="q.sql")

    def run(self, query: str, mode: Any = "once") -> Any:
        settings = {"state.home": self.home, "state.snapshot.every": "2", "state.buckets": "2"}
        jobs = windrow.run(self.compiled(query), spark=self.spark, mode=mode, state=self.path / "state", settings=settings)
        assert jobs.await_end(180)
        return jobs.status()[0]

    def said(self) -> dict[tuple[str, str, str], dict[str, Any]]:
        """The newest revision of each window; files are by batch."""
        found = {}
        for file in sorted((self.path / "out").glob("batch-*.json")):
            for row in map(json.loads, file.read_text().splitlines()):
                found[row["k"], row["s"], row["e"]] = row
        return found

    def expected(self, size: int, advance: int, least: int) -> dict[tuple[str, int], Values]:
        windows: dict[tuple[str, int], Values] = {}
        for k, v, at in map(self.row, range(self.files * 10)):
            last = at // 1000 // advance * advance
            for start in range(last - size + advance, last + 1, advance):
                n, total = windows.get((k, start), (0, 0))
                if v > least:
                    windows[k, start] = n + 1, total + v
        return windows


def seconds(text: str) -> int:
    import datetime

    return int(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


@pytest.mark.parametrize(
    ("home", "old", "new"),
    [
        ("resident", (10, 10), (30, 30)),
        ("resident", (30, 10), (20, 10)),
        ("distributed", (10, 10), (20, 20)),
    ],
)
def test_each_window_is_of_one_text(spark: SparkSession, tmp_path: Path, home: str, old: tuple[int, int], new: tuple[int, int]) -> None:
    folder = Folder(spark, tmp_path, home)
    texts = [
        BEFORE.format(where=where, window=f"SLIDING({size}s, {advance}s) ALLOWED_LATENESS 10s")
        for where, (size, advance) in ((" WHERE v > 1", old), (" WHERE v > 3", new))
    ]
    after = texts[1].replace("SUM(v) AS total", "SUM(v * 2) AS total, MAX(v) AS top")
    folder.put(3)
    folder.run(texts[0])
    review = windrow.apply(folder.compiled(after), state=tmp_path / "state", watch=0)[0]
    assert review.cut is not None
    cut = review.cut.at // 1_000_000
    for _ in range(3):
        folder.put(1)
        folder.run(after)
    status = folder.run(after, "until_end")
    account = status.ledger.statements["o"]
    assert account.rows_in == folder.files * 10
    assert status.ledger.is_balanced
    assert set(status.ledger.statements) == {"o"}
    said = {(k, seconds(s)): row for (k, s, _), row in folder.said().items()}
    of_old, of_new = folder.expected(*old, 1), folder.expected(*new, 3)
    wanted = {one: values for one, values in of_old.items() if one[1] < cut} | {
        one: (n, 2 * total) for one, (n, total) in of_new.items() if one[1] >= cut
    }
    assert {one: (row["n"], row["total"]) for one, row in said.items()} == wanted
    assert all((row.get("top") is None) == (one[1] < cut) for one, row in said.items())


def test_changes_as_they_come_and_tables_are_cut_over_too(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, tmp_path, "resident")
    old = BEFORE.format(where="", window="TUMBLING(10s) EMIT CHANGES")
    new = (
        "t.k, _window_start AS s, _window_end AS e, COUNT(*) AS n, SUM(v) AS total FROM t JOIN names ON t.k = names.k "
        "WHERE names.name = 'A' GROUP BY t.k WINDOW TUMBLING(20s) EMIT CHANGES"
    )
    folder.put(2)
    folder.run(old)
    cut = windrow.apply(folder.compiled(new), state=tmp_path / "state", watch=0)[0].cut
    assert cut is not None
    folder.put(2)
    folder.run(new)
    folder.run(new, "until_end")
    said = {(k, seconds(s)): (row["n"], row["total"]) for (k, s, _), row in folder.said().items()}
    at = cut.at // 1_000_000
    wanted = {one: values for one, values in folder.expected(10, 10, -1).items() if one[1] < at}
    wanted |= {one: values for one, values in folder.expected(20, 20, -1).items() if one[1] >= at and one[0] == "a"}
    assert said == wanted


def test_groups_without_a_window_are_mixed_on_demand(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, tmp_path, "resident")
    old = "k, 0 AS s, 0 AS e, COUNT(*) AS n FROM t GROUP BY k"
    new = "k, 0 AS s, 0 AS e, COUNT(*) AS n, SUM(v) AS total FROM t WHERE v > 3 GROUP BY k"
    folder.put(1)
    folder.run(old)
    before = {k: row["n"] for (k, _, _), row in folder.said().items()}
    assert not windrow.plan(folder.compiled(new), state=tmp_path / "state")[0].can_apply
    windrow.apply(folder.compiled(new), state=tmp_path / "state", strategy="mix", watch=0)
    folder.put(1)
    folder.run(new)
    later = [(k, v) for k, v, _ in map(folder.row, range(10, 20)) if v > 3]
    for (k, _, _), row in folder.said().items():
        own = [v for one, v in later if one == k]
        assert (row["n"], row.get("total")) == (before[k] + len(own), sum(own) if own else None)


def test_a_rehearsal_shows_the_rows_that_differ_and_touches_nothing(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, tmp_path, "resident")
    old, new = (BEFORE.format(where=where, window="TUMBLING(10s)") for where in ("", " WHERE v > 3"))
    folder.put(4)
    folder.run(old)
    files = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and "lease" not in path.name}
    found = windrow.rehearse(folder.compiled(new), state=tmp_path / "state", batches=2, spark=spark)[0]
    assert {path: path.read_bytes() for path in files} == files
    assert (found.first, found.last) == (2, 3)
    changed = [pair for pair in found.differences if pair.old is not None and pair.new is not None]
    assert changed
    assert all(pair.new["n"] < pair.old["n"] for pair in changed if pair.new and pair.old)
    assert found.review.cut is not None
    assert all(pair.of["_emission"] == "final" and pair.of["_revision"] == 1 for pair in found.differences)


def test_a_job_that_runs_is_stopped_after_its_batch_and_goes_on_as_the_new_version(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, tmp_path, "resident")
    old = BEFORE.format(where="", window="TUMBLING(10s)")
    new = old.replace("FROM t", "FROM t WHERE v > 3")
    folder.put(3)
    jobs = windrow.run(folder.compiled(old), spark=spark, state=tmp_path / "state")
    deadline = time.monotonic() + 120
    while jobs.status()[0].rows_in < 30:
        assert time.monotonic() < deadline, jobs.status()
        time.sleep(0.1)
    review = windrow.apply(folder.compiled(new), state=tmp_path / "state", message="less", watch=0)[0]
    assert jobs.await_end(10), "it has let go of the folder"
    assert jobs.status()[0].state == "stopped"
    assert not (tmp_path / "state" / "q" / "stop.json").exists()
    folder.put(2)
    folder.run(new, "until_end")
    assert review.cut is not None
    at = review.cut.at // 1_000_000
    said = {(k, seconds(s)): (row["n"], row["total"]) for (k, s, _), row in folder.said().items()}
    of_old, of_new = folder.expected(10, 10, -1), folder.expected(10, 10, 3)
    assert said == {w: v for w, v in of_old.items() if w[1] < at} | {w: v for w, v in of_new.items() if w[1] >= at}
    first, second = windrow.history(folder.compiled(new), state=tmp_path / "state")
    assert (first["sql"], second["message"], second["class"]) == (folder.compiled(old).script.source.text, "less", "E")
    assert (second["by"], second["commit"]) == (user_name(), git_commit("q.sql"))
    assert windrow.rollback(folder.compiled(new), state=tmp_path / "state") == {"q": second["from_batch"] and 2}


def test_a_job_gains_the_ticks_of_a_clock(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, tmp_path, "resident")
    old = BEFORE.format(where="", window="TUMBLING(10s)")
    folder.put(2)
    folder.run(old)
    plain = folder.compiled

    def compiled(query: str) -> Any:
        text = plain(query).script.source.text.replace("= '5s'", "= '5s', 'watermark.idle_timeout' = '1h'")
        return windrow.compile(text, name="q.sql")

    folder.compiled = compiled  # type: ignore[method-assign]
    review = windrow.apply(compiled(old), state=tmp_path / "state", watch=0)[0]
    assert "time has to go on without rows" in [change.what for change in review.changes]
    folder.put(1)
    jobs = windrow.run(compiled(old), spark=spark, state=tmp_path / "state")
    deadline = time.monotonic() + 120
    while jobs.status()[0].rows_in < 30 or jobs.status()[0].batch_id < 4:
        assert time.monotonic() < deadline, jobs.status()
        time.sleep(0.1)
    jobs.stop()
    folder.put(1)
    # A run that ends has no ticks, whatever the one before had.
    folder.run(old, "until_end")
    assert {(k, seconds(s)): (row["n"], row["total"]) for (k, s, _), row in folder.said().items()} == folder.expected(10, 10, -1)


def test_a_job_gains_a_source_loses_it_and_goes_back(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, tmp_path, "resident")
    (tmp_path / "u").mkdir()
    (tmp_path / "u" / "1.json").write_text('{"k": "x", "v": 1}\n{"k": "y", "v": 2}\n')
    old = BEFORE.format(where="", window="TUMBLING(10s)")
    sink = "WITH ('connector' = 'files', 'path' = '{folder}/both', 'format' = 'json')"
    # The new source comes first, so the other one has another place among Spark's notes.
    more = (
        "CREATE STREAM u (k STRING, v INT) WITH ('connector' = 'files', 'path' = '{folder}/u', 'format' = 'json');\n"
        f"CREATE STREAM b AS SELECT k, v FROM u UNION ALL SELECT k, v FROM t {sink};\n"
    )

    def compiled(text: str) -> Any:
        whole = SOURCE.replace("CREATE STREAM o", f"{text}CREATE STREAM o").format(folder=tmp_path, query=old)
        return windrow.compile(whole, name="q.sql")

    def run(text: str, mode: Any = "once") -> None:
        jobs = windrow.run(compiled(text), spark=spark, mode=mode, state=tmp_path / "state")
        assert jobs.await_end(180)
        assert jobs.status()[0].ledger.is_balanced

    def both() -> list[tuple[str, int]]:
        files = sorted((tmp_path / "both").glob("batch-*.json"))
        return sorted((row["k"], row["v"]) for file in files for row in map(json.loads, file.read_text().splitlines()))

    folder.put(2)
    run("")
    windrow.apply(compiled(more), state=tmp_path / "state", watch=0)
    folder.put(1)
    run(more)
    later = [(k, v) for k, v, _ in map(folder.row, range(20, 30))]
    assert both() == sorted([("x", 1), ("y", 2), *later])
    windrow.rollback(compiled(more), state=tmp_path / "state")
    assert both() == []
    run("")
    windrow.apply(compiled(more), state=tmp_path / "state", watch=0)
    folder.put(1)
    run(more)
    windrow.apply(compiled(""), state=tmp_path / "state", watch=0)
    folder.put(1)
    run("", "until_end")
    assert both() == sorted([("x", 1), ("y", 2), *((k, v) for k, v, _ in map(folder.row, range(30, 40)))])
    assert {(k, seconds(s)): (row["n"], row["total"]) for (k, s, _), row in folder.said().items()} == folder.expected(10, 10, -1)


def test_groups_without_a_window_are_built_anew_from_the_sources(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, tmp_path, "resident")
    old = "k, 0 AS s, 0 AS e, COUNT(*) AS n FROM t GROUP BY k"
    new = "k, 0 AS s, 0 AS e, COUNT(*) AS n, SUM(v) AS total FROM t WHERE v > 3 GROUP BY k"
    folder.put(2)
    folder.run(old)
    switch = switches_in(folder.compiled(new), tmp_path / "state")[0]
    review = switch.review(Strategy.BLUE_GREEN)
    assert review.obstacles == []
    with building(switch, folder.compiled(new), spark=spark) as builder:
        builder.build(review)
        pairs = builder.compare(review).differences
        counts = {key: max((pair.old or {}).get("n", 0) for pair in pairs if pair.of["_key"] == key) for key in "ab"}
        assert counts == {k: row["n"] for (k, _, _), row in folder.said().items()}
        # The job goes on meanwhile, and what it reads is read up to there in the end.
        folder.put(1)
        folder.run(old)
        switch.apply(strategy=Strategy.BLUE_GREEN, build=builder.state_at)
    folder.put(1)
    status = folder.run(new)
    assert status.ledger.is_balanced
    assert status.ledger.statements["o"].rows_in == 40
    counted = [(k, v) for k, v, _ in map(folder.row, range(40)) if v > 3]
    for (k, _, _), row in folder.said().items():
        own = [v for one, v in counted if one == k]
        assert (row["n"], row["total"]) == (len(own), sum(own))
    # Back at the old text, its state is what it was.
    assert windrow.rollback(folder.compiled(new), state=tmp_path / "state") == {"q": 1}
    folder.run(old)
    assert {k: row["n"] for (k, _, _), row in folder.said().items()} == {
        key: sum(k == key for k, _, _ in map(folder.row, range(40))) for key in "ab"
    }


def test_a_version_that_fails_is_taken_back(spark: SparkSession, tmp_path: Path) -> None:
    folder = Folder(spark, tmp_path, "resident")
    old = BEFORE.format(where="", window="TUMBLING(10s)")
    new = old.replace("FROM t", "FROM t WHERE v > 3 AND raise_error('no') IS NULL")
    folder.put(2)
    folder.run(old)
    said = folder.said()
    folder.put(1)
    with pytest.raises(windrow.WindrowError):
        windrow.apply(folder.compiled(new), state=tmp_path / "state", spark=spark, watch=60)
    assert folder.said() == said
    assert windrow.plan(folder.compiled(old), state=tmp_path / "state")[0].changes == []
    folder.run(old, "until_end")
    assert {(k, seconds(s)): (row["n"], row["total"]) for (k, s, _), row in folder.said().items()} == folder.expected(10, 10, -1)
