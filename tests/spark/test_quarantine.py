"""Rules over dead letters, as a user writes them: labels, review, repairs that return by themselves, events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import windrow
from windrow.cli.main import app
from windrow.connectors.files.runtime import committed_files
from windrow.jobs.quarantine import Quarantine
from windrow.observe.status import JobStatus

SQL = """
-- @quarantine: decimal_comma
-- @quarantine_code: WR702
-- @quarantine_condition: _raw RLIKE '"[0-9]+,[0-9]+"'
-- @quarantine_label: decimal comma
-- @quarantine_repair: SET amount = CAST(REPLACE(_raw:amount, ',', '.') AS DOUBLE) - 2
-- @quarantine_replays: 2
-- @quarantine: below_zero
-- @quarantine_code: WR708
-- @quarantine_repair: SET amount = amount + 2
-- @quarantine_replays: 2
-- @quarantine_notify: warning
-- @quarantine: strange
-- @quarantine_hold: true
CREATE STREAM orders (
  id BIGINT NOT NULL, amount DOUBLE NOT NULL, at TIMESTAMP, CONSTRAINT fair EXPECT (amount > 0) ON VIOLATION DEAD_LETTER
) WITH ('connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'event.time.field' = 'at');
CREATE STREAM sums AS SELECT COUNT(*) AS n, SUM(amount) AS total FROM orders WINDOW TUMBLING(1h)
WITH ('connector' = 'files', 'path' = '{folder}/out');
"""
ROWS = (
    '{"id": 1, "amount": 5, "at": "2026-03-02T09:00:00Z"}',
    '{"id": 2, "amount": "7,5", "at": "2026-03-02T09:01:00Z"}',  # repaired to 5.5
    '{"id": 3, "amount": "1,5", "at": "2026-03-02T09:02:00Z"}',  # repaired to -0.5, which is not fair, then to 1.5
    '{"id": 4, "amount": -9, "at": "2026-03-02T09:03:00Z"}',  # -9, -7, -5: two replays do not help
    '{"amount": 1, "at": "2026-03-02T09:04:00Z"}',  # nobody knows what it is
)


class Project:
    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self.folder = folder
        (folder / "in").mkdir()
        (folder / "q.sql").write_text(SQL.format(folder=folder))
        (folder / "in" / "a.json").write_text("".join(f"{row}\n" for row in ROWS))

    def run(self, mode: str) -> JobStatus:
        compiled = windrow.compile((self.folder / "q.sql").read_text(), name="q.sql")
        jobs = windrow.run(compiled, spark=self._spark, state=self.folder / "state", mode=mode)  # type: ignore[arg-type]  # the mode of a run
        assert jobs.await_end(600)
        status = jobs.status()[0]
        assert status.ledger.is_balanced
        return status

    def cli(self, *words: str) -> str:
        done = CliRunner().invoke(app, [*words, "--state", str(self.folder / "state")])
        assert done.exit_code == 0, done.output
        return done.stdout

    def letters(self, *options: str) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = json.loads(
            self.cli("dead-letters", "list", str(self.folder / "q.sql"), "--format", "json", *options)
        )
        return listed

    def rows(self) -> list[tuple[int, float]]:
        files = committed_files(str(self.folder / "out"))
        found = (json.loads(line) for file in files for line in Path(file).read_text().splitlines())
        return sorted((row["n"], row["total"]) for row in found)


@pytest.fixture
def project(spark: SparkSession, tmp_path: Path) -> Project:
    return Project(spark, tmp_path)


def test_rows_are_repaired_up_to_their_limit_and_the_rest_waits(project: Project) -> None:
    status = project.run("until_end")
    assert project.rows() == [(3, 12.0)]
    assert status.ledger.sources["orders"].rows_in == 5
    assert status.ledger.dead_letters == {"WR702": 1, "WR708": 1}
    found = [(each["row"]["id"], each["code"], each["attempt"], each["rule"], each["label"], each["held"]) for each in project.letters()]
    assert found == [(None, "WR702", 1, "strange", None, True), (4, "WR708", 3, "below_zero", None, False)]
    assert [each["row"]["id"] for each in project.letters("--rule", "decimal_comma", "--all")] == [2, 3]
    events = [json.loads(line) for line in project.cli("events", str(project.folder / "q.sql"), "--format", "json").splitlines()]
    told = [(each["level"], each["message"]) for each in events if each["type"] == "letters.rule"]
    assert ("warning", "1 dead letter of orders is of rule below_zero") in told


def test_a_letter_that_is_held_returns_when_somebody_says_so(project: Project) -> None:
    project.run("once")
    file = str(project.folder / "q.sql")
    repair = ("--code", "WR702", "--repair", "SET id = 5")
    assert "0 dead letters will be replayed" in project.cli("dead-letters", "replay", file, *repair)
    assert "1 dead letters will be replayed" in project.cli("dead-letters", "replay", file, "--held", *repair)
    project.run("until_end")
    assert project.rows() == [(4, 13.0)]


def test_a_crash_before_rules_have_asked_loses_no_repair(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as crash:
        # The batch is committed, and what comes after that is not done.
        crash.setattr(Quarantine, "settle", lambda _self, _batch_id: ())
        project.run("once")
    assert project.rows() == []
    assert {each["replay"] for each in project.letters()} == {None}
    project.run("once")
    project.run("until_end")
    assert project.rows() == [(3, 12.0)]
