"""Expectations of a job that is stopped, changed and run again: letters return, the ledger knows them by name."""

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
from windrow.errors import WindrowError
from windrow.jobs import replays
from windrow.observe.status import JobStatus

SOURCE = """
CREATE STREAM orders (id BIGINT, price DOUBLE, CONSTRAINT fair EXPECT (price > 0) ON VIOLATION {then}) WITH (
  'connector' = 'files', 'path' = '{folder}/in', 'format' = 'json'
);
CREATE STREAM large (CONSTRAINT sane EXPECT (price < {most}) ON VIOLATION DEAD_LETTER, CONSTRAINT even EXPECT (id % 2 = 0)) AS
SELECT id, price FROM orders WITH ('connector' = 'files', 'path' = '{folder}/out');
"""


class Shop:
    """A job over files, run once for each time it is asked."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self.folder = folder
        (folder / "in").mkdir()

    def feed(self, name: str, *prices: float) -> None:
        rows = ({"id": number, "price": price} for number, price in enumerate(prices))
        (self.folder / "in" / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def run(self, then: str = "DEAD_LETTER", most: int = 100) -> JobStatus:
        text = SOURCE.format(folder=self.folder, then=then, most=most)
        (self.folder / "q.sql").write_text(text)
        compiled = windrow.compile(text, name="q.sql")
        jobs = windrow.run(compiled, spark=self._spark, state=self.folder / "state", mode="once")
        jobs.await_end(240)
        status = jobs.status()[0]
        assert status.ledger.is_balanced
        return status

    def cli(self, *words: str) -> str:
        command, *options = words
        place = [str(self.folder / "q.sql"), *options, "--state", str(self.folder / "state")]
        done = CliRunner().invoke(app, ["dead-letters", command, *place])
        assert done.exit_code == 0, done.output
        return done.stdout

    def letters(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = json.loads(self.cli("list", "--format", "json"))
        return listed

    def prices(self) -> list[float]:
        files = committed_files(str(self.folder / "out"))
        return sorted(json.loads(line)["price"] for file in files for line in Path(file).read_text().splitlines())


@pytest.fixture
def shop(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    monkeypatch.setattr(replays, "_LOOK_SECONDS", 0.0)
    return Shop(spark, tmp_path)


def test_a_corrected_row_is_counted_once_and_moves_in_the_ledger(shop: Shop) -> None:
    shop.feed("a.json", 5, -1, 700)
    status = shop.run()
    assert shop.prices() == [5]
    assert dict(status.violations) == {"fair": 1, "sane": 1}
    told = sorted((each["code"], each["constraint"], each["message"]) for each in shop.letters())
    assert told == [
        ("WR708", "fair", "source orders: the row violates constraint fair: EXPECT (price > 0)"),
        ("WR708", "sane", "statement large: the row violates constraint sane: EXPECT (price < 100)"),
    ]
    # The row of the source is corrected; that of the query is let through by a constraint that has changed.
    file = shop.folder / "letters.jsonl"
    shop.cli("export", "--to", str(file))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    file.write_text("".join(json.dumps({**each, "raw": '{"id": 1, "price": 1}'}) + "\n" for each in lines if each["constraint"] == "fair"))
    assert "1 dead letters will be replayed" in shop.cli("replay", "--edited", str(file))
    assert "1 dead letters will be replayed" in shop.cli("replay", "--by", "large")
    status = shop.run(most=1000)
    assert shop.prices() == [1, 5, 700]
    assert dict(status.violations) == {"even": 1}
    assert (status.ledger.rows_in, dict(status.ledger.dead_letters)) == (3, {})
    assert shop.letters() == []


def test_what_violates_again_is_a_letter_of_attempt_two(shop: Shop) -> None:
    shop.feed("a.json", 5, -1, 700)
    shop.run()
    shop.cli("replay")
    status = shop.run()
    assert sorted((each["constraint"], each["attempt"]) for each in shop.letters()) == [("fair", 2), ("sane", 2)]
    assert dict(status.violations) == {"fair": 1, "sane": 1}


def test_a_job_that_failed_goes_on_when_the_constraint_has_changed(shop: Shop) -> None:
    shop.feed("a.json", 5, -1)
    with pytest.raises(WindrowError, match=r"constraint fair.*nothing of the batch was written"):
        shop.run("FAIL")
    assert shop.prices() == []
    status = shop.run("DEAD_LETTER")
    assert (shop.prices(), dict(status.violations)) == ([5], {"fair": 1})
