"""Dead letters go back into their job: once each, and the ledger knows them again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import windrow
from windrow.cli.main import app
from windrow.connectors.files.runtime import committed_files
from windrow.jobs import replays
from windrow.jobs.checkpoint import Checkpoint
from windrow.observe.ledger import Ledger
from windrow.spark.execution.executor import BatchExecutor

SQL = """
CREATE STREAM orders (id BIGINT NOT NULL, amount INT, at TIMESTAMP) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'event.time.field' = 'at'
);
CREATE STREAM large AS SELECT id, amount FROM orders WHERE amount > 0 WITH ('connector' = 'files', 'path' = '{folder}/out');
"""
GOOD = '{"id": 1, "amount": 5, "at": "2026-03-02T09:00:00Z"}'
BROKEN = '{"id": 2, "amount": 7, "at": "2026-03-02T09:01:00Z"'
NAMELESS = '{"amount": 9, "at": "2026-03-02T09:02:00Z"}'


class Job:
    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self.folder = folder
        (folder / "in").mkdir()
        (folder / "q.sql").write_text(SQL.format(folder=folder))

    def feed(self, name: str, *lines: str) -> None:
        (self.folder / "in" / name).write_text("".join(f"{line}\n" for line in lines))

    def run(self, mode: str = "once") -> Ledger:
        compiled = windrow.compile((self.folder / "q.sql").read_text(), name="q.sql")
        jobs = windrow.run(compiled, spark=self._spark, state=self.folder / "state", mode=mode)  # type: ignore[arg-type]  # the mode of a run
        jobs.await_end(120)
        ledger = jobs.status()[0].ledger
        assert ledger.is_balanced
        return ledger

    def cli(self, *words: str) -> str:
        command, *options = words
        done = CliRunner().invoke(
            app, ["dead-letters", command, str(self.folder / "q.sql"), *options, "--state", str(self.folder / "state")]
        )
        assert done.exit_code == 0, done.output
        return done.stdout

    def letters(self, *options: str) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = json.loads(self.cli("list", "--format", "json", *options))
        return listed

    def rows(self) -> list[int]:
        files = committed_files(str(self.folder / "out"))
        return sorted(json.loads(line)["id"] for file in files for line in Path(file).read_text().splitlines())


@pytest.fixture
def job(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    monkeypatch.setattr(replays, "_LOOK_SECONDS", 0.0)
    return Job(spark, tmp_path)


def mend(job: Job, change: Callable[[str], str]) -> Path:
    """Export the open letters, change their raw text, and give the file."""
    file = job.folder / "letters.jsonl"
    job.cli("export", "--to", str(file))
    records = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps({**each, "raw": change(each["raw"])}) + "\n" for each in records))
    return file


def test_a_mended_row_is_counted_once_and_moves_in_the_ledger(job: Job) -> None:
    job.feed("a.json", GOOD, BROKEN, NAMELESS)
    ledger = job.run()
    assert ledger.dead_letters == {"WR701": 1, "WR702": 1}
    file = mend(job, lambda raw: raw + "}" if not raw.endswith("}") else raw)
    assert "2 dead letters will be replayed" in job.cli("replay", "--edited", str(file))
    # Nothing new in the source: the letters are a batch of their own.
    ledger = job.run()
    assert job.rows() == [1, 2]
    assert (ledger.sources["orders"].rows_in, ledger.sources["orders"].passed) == (3, 2)
    assert ledger.dead_letters == {"WR702": 1}
    open_ones = job.letters()
    assert [(each["code"], each["attempt"], each["offset"]) for each in open_ones] == [("WR702", 2, 2)]
    assert [each["replay"] for each in job.letters("--all")] == [1, 1, None]
    # Neither a second request nor a further run replays them again.
    assert "0 dead letters will be replayed" in job.cli("replay", "--code", "WR701")
    job.feed("b.json", GOOD.replace('"id": 1', '"id": 3'))
    ledger = job.run()
    assert job.rows() == [1, 2, 3]
    assert ledger.sources["orders"].rows_in == 4


def test_letters_ride_with_new_rows(job: Job) -> None:
    job.feed("a.json", GOOD, BROKEN)
    job.run()
    job.cli("replay", "--edited", str(mend(job, lambda raw: raw + "}")))
    job.feed("b.json", GOOD.replace('"id": 1', '"id": 3'))
    ledger = job.run()
    assert job.rows() == [1, 2, 3]
    assert ledger.sources["orders"].rows_in == 3


@pytest.mark.parametrize("step", ["run", "commit_empty"])
def test_a_crash_in_the_replay_changes_nothing(job: Job, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    job.feed("a.json", GOOD, BROKEN)
    job.run()
    job.cli("replay", "--edited", str(mend(job, lambda raw: raw + "}")))
    owner: Any = BatchExecutor if step == "run" else Checkpoint

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(owner, step, die)
        with pytest.raises(KeyboardInterrupt):
            job.run()
    ledger = job.run()
    assert job.rows() == [1, 2]
    assert (ledger.sources["orders"].rows_in, ledger.sources["orders"].passed, dict(ledger.dead_letters)) == (2, 2, {})


def test_going_back_before_a_replay_lets_it_wait_again(job: Job) -> None:
    job.feed("a.json", GOOD, BROKEN)
    job.run()
    job.cli("replay", "--edited", str(mend(job, lambda raw: raw + "}")))
    job.run()
    state = str(job.folder / "state")
    done = CliRunner().invoke(app, ["state", "restore", str(job.folder / "q.sql"), "--to", "0", "--yes", "--state", state])
    assert done.exit_code == 0, done.output
    assert job.rows() == [1]
    job.run()
    assert job.rows() == [1, 2]


def test_a_job_that_has_ended_takes_no_letters(job: Job) -> None:
    job.feed("a.json", GOOD, BROKEN)
    job.run("until_end")
    done = CliRunner().invoke(app, ["dead-letters", "replay", str(job.folder / "q.sql"), "--state", str(job.folder / "state")])
    assert done.exit_code == 2
    assert "[WR892]" in done.output
