"""Jobs with one output whose system is away: the other output goes on, and rows end where the options say."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import windrow
from tests import ledgerdb
from windrow.errors import JobError, UsageError
from windrow.jobs import Jobs
from windrow.observe.status import AWAY, UP

SQL = """
CREATE STREAM s (v INT) WITH ('connector' = 'files', 'path' = '{folder}/in', 'format' = 'json', 'files.per_batch' = '1');
CREATE STREAM shop AS SELECT v FROM s WITH ('connector' = 'ledgerdb', 'path' = '{folder}/shop.db', {options});
CREATE STREAM archive AS SELECT v * 10 AS v FROM s WITH ('connector' = 'files', 'path' = '{folder}/archive', 'format' = 'json');
CREATE STREAM backup AS SELECT v + 1000 AS v FROM s WHERE v < 0 WITH ('connector' = 'ledgerdb', 'path' = '{folder}/backup.db');
"""


@pytest.fixture(autouse=True)
def connector() -> Iterator[None]:
    ledgerdb.install()
    yield
    ledgerdb.uninstall()


class Shop:
    """A folder with a job, its input, and the file that says that its database is away."""

    def __init__(self, spark: SparkSession, folder: Path, options: str) -> None:
        self._spark = spark
        self.folder = folder
        self.sql = SQL.format(folder=folder, options=options)
        (folder / "in").mkdir(exist_ok=True)
        self._away = folder / "shop.db.away"

    def feed(self, *values: int) -> None:
        number = len(list((self.folder / "in").glob("*.json")))
        text = "".join(json.dumps({"v": value}) + "\n" for value in values)
        part = self.folder / "in" / f".{number}.part"
        part.write_text(text)
        part.rename(self.folder / "in" / f"{number:04d}.json")

    def is_away(self, *, yes: bool) -> None:
        if yes:
            self._away.touch()
        else:
            self._away.unlink()

    def start(self, mode: Any = "continuous", **settings: str) -> Jobs:
        given = {key.replace("__", "."): value for key, value in settings.items()}
        return windrow.run(self.sql, spark=self._spark, mode=mode, state=self.folder / "state", settings=given)

    def archived(self) -> list[int]:
        files = sorted((self.folder / "archive").glob("batch-*.json"))
        return [json.loads(line)["v"] for file in files for line in file.read_text().splitlines()]

    def shop(self) -> list[int]:
        return [row["v"] for row in ledgerdb.lines(self.folder / "shop.db")]


def _until(condition: Callable[[], object], seen: Callable[[], object]) -> None:
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline, f"it did not come to that in time: {str(seen())[:300]}"
        time.sleep(0.05)


def test_the_other_output_goes_on_and_what_waited_is_delivered_in_order(spark: SparkSession, tmp_path: Path) -> None:
    case = Shop(spark, tmp_path, "'on.unavailable' = 'spill', 'write.timeout' = '5s'")
    case.feed(1, 2)
    jobs = case.start()
    try:
        _until(lambda: (tmp_path / "shop.db").exists() and case.shop() == [1, 2], jobs.status)
        case.is_away(yes=True)
        case.feed(3)
        case.feed(4, 5)
        _until(lambda: case.archived() == [10, 20, 30, 40, 50], jobs.status)
        _until(lambda: jobs.status()[0].outputs[0].waiting_rows == 3, jobs.status)
        (output,) = jobs.status()[0].outputs
        assert (output.statement, output.state, output.policy, output.waiting_batches) == ("shop", AWAY, "spill", 2)
        assert "does not answer" in (output.error or "")
    finally:
        jobs.stop()
    assert case.shop() == [1, 2]
    jobs = case.start()
    try:
        case.feed(6)
        _until(lambda: len(case.archived()) == 6, jobs.status)
        case.is_away(yes=False)
        _until(lambda: case.shop() == [1, 2, 3, 4, 5, 6], jobs.status)
        _until(lambda: jobs.status()[0].outputs[0].state == UP, jobs.status)
        account = jobs.status()[0].ledger.statements["shop"]
        assert (account.emitted, account.spilled, account.is_balanced) == (6, 4, True)
    finally:
        jobs.stop()


def test_an_end_waits_for_the_rows_and_the_next_run_delivers_them(spark: SparkSession, tmp_path: Path) -> None:
    case = Shop(spark, tmp_path, "'on.unavailable' = 'spill', 'write.timeout' = '5s'")
    case.feed(1)
    case.is_away(yes=True)
    with pytest.raises(JobError, match=r"WR822.*1 rows? still wait"):
        case.start("until_end", outage__max_seconds="1").await_end(300)
    other = Shop(spark, tmp_path, "'on.unavailable' = 'drop'")
    with pytest.raises(UsageError, match="WR834"):
        other.start("until_end")
    case.is_away(yes=False)
    assert case.start("until_end").await_end(300)
    assert case.shop() == [1]


def test_rows_are_dropped_by_reason_and_others_go_on(spark: SparkSession, tmp_path: Path) -> None:
    case = Shop(spark, tmp_path, "'on.unavailable' = 'drop', 'write.timeout' = '5s'")
    case.feed(1, 2)
    case.is_away(yes=True)
    jobs = case.start("until_end")
    assert jobs.await_end(300)
    account = jobs.status()[0].ledger.statements["shop"]
    assert (account.emitted, dict(account.unsent), account.is_balanced) == (2, {"WR828": 2}, True)
    assert jobs.status()[0].outputs[0].dropped == 2
    assert case.archived() == [10, 20]


def test_rows_go_to_the_output_of_another_stream_marked(spark: SparkSession, tmp_path: Path) -> None:
    case = Shop(spark, tmp_path, "'on.unavailable' = 'failover', 'failover.to' = 'backup', 'write.timeout' = '5s'")
    case.feed(1, -2)
    case.is_away(yes=True)
    jobs = case.start("until_end")
    assert jobs.await_end(300)
    rows = sorted(ledgerdb.lines(tmp_path / "backup.db"), key=lambda row: row["v"])
    assert rows == [{"v": -2, "failover_from": "shop"}, {"v": 1, "failover_from": "shop"}, {"v": 998}]
    assert jobs.status()[0].ledger.statements["shop"].failed_over == 2


@pytest.mark.slow
def test_a_job_halts_with_a_code_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    case = Shop(spark, tmp_path, "'on.unavailable' = 'halt', 'halt.after' = '300ms'")
    case.feed(1)
    assert case.start("once").await_end(300)
    case.feed(2)
    jobs = case.start()
    try:
        _until(lambda: len(case.archived()) == 2, jobs.status)
        case.is_away(yes=True)
        case.feed(3)
        with pytest.raises(JobError, match="WR825"):
            jobs.await_end(300)
    finally:
        jobs.stop()
    case.is_away(yes=False)
    assert case.start("once").await_end(300)
    assert case.shop() == [1, 2, 3]


@pytest.mark.slow
def test_going_back_forgets_what_waits(spark: SparkSession, tmp_path: Path) -> None:
    from windrow.compiler import compile_sql
    from windrow.jobs.history import JobHistory

    case = Shop(spark, tmp_path, "'on.unavailable' = 'spill', 'write.timeout' = '5s'")
    case.feed(1)
    assert case.start("once").await_end(300)
    case.is_away(yes=True)
    case.feed(2)
    with pytest.raises(JobError, match="WR822"):
        case.start("once", outage__max_seconds="1").await_end(300)
    (job,) = compile_sql(case.sql).plan.jobs
    assert JobHistory(job, tmp_path / "state").restore(0) == 1
    case.is_away(yes=False)
    assert case.start("once").await_end(300)
    assert case.shop() == [1, 2]
