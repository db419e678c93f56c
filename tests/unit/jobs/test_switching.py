"""Changing a query over a state folder: what is refused, what is kept of the old version, and what a crash leaves."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from tests.property.changed_job import SECOND, PlainJob, Row, Text, expected
from windrow.changes import Strategy, changes_between
from windrow.compiler import compile_sql
from windrow.connectors.files.runtime import FilesConnector
from windrow.errors import JobError, UsageError, WindrowError
from windrow.jobs import switching
from windrow.jobs.history import JobHistory
from windrow.jobs.identity import read_card
from windrow.jobs.job_versions import versions_of
from windrow.jobs.saved_text import as_it_is, saved_job
from windrow.observe.ledger import Ledger
from windrow.plan.explain_json import job_to_json
from windrow.storage import LocalFolder
from windrow.storage.lease import Lease

OLD = Text(("COUNT(*)", "SUM(v)"))
NEW = replace(OLD, calls=("SUM(v)", "MAX(v)"))
BATCHES = [[Row("a", 1, 1 * SECOND), Row("b", 2, 4 * SECOND)], [Row("a", 3, 12 * SECOND)], [Row("a", 4, 33 * SECOND)]]

SOURCE = """
CREATE STREAM t (k STRING, v INT, w INT, ts TIMESTAMP) WITH ('connector' = 'files', 'path' = 'in', 'event.time.field' = 'ts'{options});
{statements}
"""
SUMS = "CREATE STREAM o AS SELECT k, SUM(v) AS n FROM t GROUP BY k WINDOW TUMBLING(1m)"


def found(old: str, new: str, old_options: str = "", new_options: str = "") -> list[tuple[str, bool]]:
    """The class of each change, and whether the state can be carried over."""
    plans = [
        job_to_json(compile_sql(SOURCE.format(options=options, statements=f"{text};"), "q.sql", {}).plan.jobs[0])
        for text, options in ((old, old_options), (new, new_options))
    ]
    return [(change.klass.value, not change.refused) for change in changes_between(*plans)]


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (SUMS, []),
        (f"{SUMS} -- a comment", []),
        (SUMS.replace("SUM(v) AS n", "SUM(v) AS m"), [("B", True)]),
        (SUMS.replace("SUM(v) AS n", "SUM(v) * 2 AS n"), [("B", True)]),
        (f"{SUMS} HAVING SUM(v) > 1", [("B", True)]),
        (f"{SUMS} ALLOWED_LATENESS 10s", [("C", False)]),
        (SUMS.replace("SUM(v) AS n", "SUM(v) AS n, MAX(v) AS m"), [("D", True), ("B", True)]),
        (SUMS.replace("SUM(v) AS n", "1 AS n"), [("D", True), ("B", True)]),
        (SUMS.replace("FROM t", "FROM t WHERE w > 1"), [("E", False)]),
        (SUMS.replace("SUM(v)", "SUM(v + w)"), [("D", True), ("D", True), ("E", False)]),
        (SUMS.replace("SUM(v)", "SUM(v) FILTER (WHERE w > 1)"), [("D", True), ("D", True), ("E", False)]),
        (SUMS.replace("SUM(v) AS n", "SUM(v + w) AS m"), [("D", True), ("D", True), ("B", True)]),
        (SUMS.replace("SUM(v) AS n", "1 AS m, SUM(v) / MAX(v) AS n"), [("D", True), ("E", False), ("B", True)]),
        (f"{SUMS} ORDER BY MAX(v) LIMIT 3", [("D", True), ("E", False), ("B", True)]),
        (SUMS.replace("(1m)", "(5m)"), [("F", False)]),
        (SUMS.replace("SELECT k, SUM(v) AS n FROM t GROUP BY k", "SELECT w, SUM(v) AS n FROM t GROUP BY w"), [("F", False), ("B", True)]),
        (f"{SUMS}; CREATE STREAM p AS SELECT k, v FROM t", [("D", True)]),
        (f"{SUMS}; CREATE STREAM p AS SELECT n FROM o", [("D", True)]),
    ],
)
def test_every_change_has_its_class(new: str, expected: list[tuple[str, bool]]) -> None:
    assert found(SUMS, new) == expected


def test_changes_of_a_source() -> None:
    assert found(SUMS, SUMS, "", ", 'watermark.delay' = '5s'") == [("C", True)]
    assert found(SUMS, SUMS, "", ", 'bad.rows' = 'drop'") == [("E", False)]
    assert found(SUMS, SUMS, "", ", 'files.recursive' = 'true'") == [("F", False)]
    plain = "CREATE STREAM o AS SELECT k FROM t"
    assert found(plain, f"{plain} WHERE v > 1") == [("B", True)]
    assert found(plain, plain, "", ", 'bad.rows' = 'drop'") == [("B", True)]


def test_what_stands_between_a_source_and_a_state_may_not_change() -> None:
    two = (
        "CREATE STREAM f AS SELECT k, v FROM t WHERE w > {}; CREATE STREAM o AS SELECT k, SUM(v) AS n FROM f GROUP BY k WINDOW TUMBLING(1m)"
    )
    assert found(two.format(1), two.format(2)) == [("E", False)]


def test_a_job_may_gain_and_lose_the_ticks_of_its_clock() -> None:
    assert ("C", True) in found(SUMS, f"{SUMS} TRIGGER EVERY 30s")
    assert found(f"{SUMS} TRIGGER EVERY 30s", SUMS)[-1] == ("C", True)


OTHER_SOURCE = "CREATE STREAM u (k STRING, w INT, ts TIMESTAMP) WITH ('connector' = 'files', 'path' = 'u', 'event.time.field' = 'ts'); "
MERGED = "CREATE STREAM p AS SELECT k, v FROM t UNION ALL SELECT k, w FROM u; "


def test_new_statements_may_read_a_source_more() -> None:
    assert found(SUMS, f"{OTHER_SOURCE}{MERGED}{SUMS}") == [("D", True), ("D", True)]
    assert found(f"{OTHER_SOURCE}{MERGED}{SUMS}", SUMS) == [("D", True), ("D", True)]
    over = SUMS.replace("FROM t", "FROM p")
    # The same statement would count the rows of a source more.
    plain = "CREATE STREAM p AS SELECT k, v FROM t; "
    assert ("F", False) in found(f"{plain}{over}", f"{OTHER_SOURCE}{MERGED}{over}")
    assert ("F", False) in found(f"{OTHER_SOURCE}{MERGED}{over}", f"{plain}{over}")


def test_groups_without_a_window_and_having_that_remembers_are_refused() -> None:
    forever = "CREATE STREAM o AS SELECT k, SUM(v) AS n FROM t GROUP BY k"
    assert found(forever, forever.replace("SUM(v) AS n", "SUM(v) AS n, MAX(v) AS m"))[0] == ("D", False)
    assert found(forever, f"{forever} HAVING SUM(v) > 1") == [("E", False)]


def test_the_old_version_is_kept_and_nothing_is_applied_twice(tmp_path: Path) -> None:
    job = PlainJob(tmp_path)
    job.run(OLD, BATCHES[:2])
    folder = job.switch(OLD).folder
    before = {path: path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file() and "lease" not in path.parts}
    job.switch(NEW).apply(message="top", who="me", commit="abc")
    after = {path: path.read_bytes() for path in before}
    assert {path.name for path in before if before[path] != after[path]} == {"job.json"}
    assert [(one.number, one.since, one.switch.get("message")) for one in versions_of(folder)] == [(1, -1, None), (2, 1, "top")]
    assert versions_of(folder)[1].switch["class"] == "D"
    assert job.switch(NEW).review().changes == []


def test_a_job_that_runs_is_refused(tmp_path: Path) -> None:
    job = PlainJob(tmp_path)
    job.run(OLD, BATCHES[:1])
    lease = Lease(job.switch(OLD).folder, "q")
    try:
        for call in (job.switch(NEW).apply, job.switch(NEW).rollback):
            with pytest.raises(UsageError) as error:
                call()
            assert error.value.code == "WR805"
    finally:
        lease.release()


def test_what_cannot_be_carried_over_touches_nothing(tmp_path: Path) -> None:
    job = PlainJob(tmp_path)
    job.run(OLD, BATCHES[:1])
    card = read_card(job.switch(OLD).folder)
    with pytest.raises(UsageError, match=r"WR673.*options\.path|WR673.*path"):
        job.switch(replace(OLD, folder="elsewhere")).apply()
    assert read_card(job.switch(OLD).folder) == card
    with pytest.raises(UsageError, match="WR675"):
        job.switch(OLD).rollback()


def test_what_a_system_outside_refuses_is_said_before_anything_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = PlainJob(tmp_path)
    job.run(OLD, BATCHES[:1])
    monkeypatch.setattr(FilesConnector, "misfit", lambda _self, request: f"no column for {request.columns[-1].name}")
    review = job.switch(NEW).review()
    assert review.obstacles == ["output of o: no column for c_max"]
    assert job.switch(OLD).review().obstacles == [], "nothing has changed, so nothing is asked"


def test_a_text_that_gives_another_plan_now_is_not_believed(tmp_path: Path) -> None:
    job = PlainJob(tmp_path)
    job.run(OLD, BATCHES[:1])
    place = job.switch(OLD).folder
    card = read_card(place)
    place.replace_atomically("job.json", json.dumps({**card, "sql": card["sql"].replace("(10s)", "(20s)")}).encode())
    assert "gives another plan" in job.switch(NEW).review().obstacles[0]
    with pytest.raises(JobError) as raised:
        saved_job(json.loads(place.read("job.json")), as_it_is("q.sql", {}))
    assert raised.value.code == "WR671"


def test_a_batch_that_was_not_finished_belongs_to_the_old_version(tmp_path: Path) -> None:
    job = PlainJob(tmp_path)
    job.run(OLD, BATCHES[:2])
    commits = job.switch(OLD).folder.child("checkpoint/commits")
    commits.replace_atomically("0", b"v1\n{}")
    commits.remove("1")
    job.switch(NEW).apply()
    assert "1" in commits.names(), "its state was durable: it only lacked Spark's note"


OTHER = Text(OLD.calls, size=20, advance=20, above=1)


class Crash(BaseException):
    """What no handler takes for an error."""


@pytest.mark.parametrize("step", range(12))
def test_a_crash_at_any_write_of_apply_leaves_one_version_whole(step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = PlainJob(tmp_path)
    job.run(OLD, BATCHES[:2])
    with monkeypatch.context() as patched:
        crash_at(step, patched)
        with suppress(Crash):
            job.switch(NEW).apply()
    present = NEW if not job.switch(NEW).review().changes else OLD
    job.run(present, BATCHES[2:], is_end=True)
    rows = [row for batch in BATCHES for row in batch]
    assert {one.window for one in job.said} == set(expected(rows, present))
    for one in job.said:
        assert dict(one.values)["c_sum"] == expected(rows, OLD)[one.window]["c_sum"]


@pytest.mark.parametrize("step", range(12))
def test_a_crash_at_any_write_of_a_cut_over_leaves_one_version_whole(step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = PlainJob(tmp_path)
    job.run(OLD, BATCHES[:2])
    with monkeypatch.context() as patched:
        crash_at(step, patched)
        with suppress(Crash):
            job.switch(OTHER).apply()
    present = OTHER if not job.switch(OTHER).review().changes else OLD
    job.run(present, BATCHES[2:], is_end=True)
    rows = [row for batch in BATCHES for row in batch]
    whole = expected(rows, OLD)
    if present is OTHER:
        whole = {w: v for w, v in whole.items() if w[1] < 20 * SECOND} | {
            w: v for w, v in expected(rows, OTHER).items() if w[1] >= 20 * SECOND
        }
    assert {one.window: dict(one.values) for one in job.said} == whole


@pytest.mark.parametrize("step", range(12))
def test_a_crash_at_any_write_of_rollback_is_completed(step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = PlainJob(tmp_path)
    job.run(OLD, BATCHES[:1])
    job.switch(NEW).apply()
    before = list(job.said)
    job.run(NEW, BATCHES[1:])
    with monkeypatch.context() as patched:
        crash_at(step, patched)
        with suppress(Crash):
            job.switch(NEW).rollback()
    if job.switch(OLD).folder.exists("rollback.json"):
        with pytest.raises(WindrowError, match="WR674"):
            job.switch(NEW).review()
        job.switch(NEW).rollback()
    elif job.switch(OLD).review().changes:
        job.switch(NEW).rollback()
    job.said = before
    job.run(OLD, BATCHES[1:], is_end=True)
    rows = [row for batch in BATCHES for row in batch]
    assert {one.window: dict(one.values) for one in job.said} == expected(rows, OLD)


def crash_at(step: int, patched: pytest.MonkeyPatch) -> None:
    """Die before the write or removal of this number, counted over the whole folder; writes of the lease are its own."""
    count = {"done": 0}

    def faulty(method: str) -> Callable[..., None]:
        original = getattr(LocalFolder, method)

        def call(self: LocalFolder, name: str = "", *args: object, **kwargs: object) -> None:
            if "lease" not in self.path:
                if count["done"] == step:
                    raise Crash
                count["done"] += 1
            original(self, name, *args, **kwargs)

        return call

    for method in ("replace_atomically", "remove"):
        patched.setattr(LocalFolder, method, faulty(method))


def test_what_rollback_removes_is_that_of_every_later_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = PlainJob(tmp_path)
    job.run(OLD, BATCHES[:1])
    job.switch(NEW).apply()
    job.run(NEW, BATCHES[1:2])
    third = replace(NEW, calls=("SUM(v)",))
    job.switch(third).apply()
    job.run(third, BATCHES[2:])
    forgotten: list[int] = []
    monkeypatch.setattr(JobHistory, "forget_outputs", lambda _self, batch: forgotten.append(batch))
    assert job.switch(third).rollback(to=1) == 2
    assert forgotten == [0, 0]
    assert [one.number for one in versions_of(job.switch(OLD).folder)] == [1, 2, 3, 4]
    assert job.switch(OLD).review().changes == []


def test_a_half_written_batch_of_an_output_that_keeps_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = PlainJob(tmp_path)
    job.run(OLD, BATCHES[:1])
    folder = job.switch(OLD).folder
    folder.replace_atomically("checkpoint/offsets/1", b"")
    with monkeypatch.context() as patched:
        patched.setattr(JobHistory, "lasting", lambda _self: ["records of a topic stay"])
        with pytest.raises(UsageError, match=r"WR672.*batch 1 of job q was begun and not finished"):
            job.switch(NEW).apply()
    job.switch(NEW).apply()
    assert folder.child("checkpoint/offsets").names() == ["0"], "it will be planned anew, by the new version"


def test_a_statement_that_makes_other_jobs_is_refused(tmp_path: Path) -> None:
    job = PlainJob(tmp_path)
    job.run(OLD, BATCHES[:1])
    apart = f"{OLD.sql()} CREATE STREAM u (a INT) WITH ('connector' = 'generator'); SELECT a FROM u;"
    with pytest.raises(UsageError, match=r"WR676.*q is gone, and now there is q\.o, q\.out"):
        switching.switches_of(compile_sql(apart, "q.sql", {}), job.state_folder, "q.sql", {})


def test_a_state_that_was_made_of_other_rows_is_not_taken(tmp_path: Path) -> None:
    """A file was removed since, or changed, or a topic has let records go. The job of these tests counts no rows of its source."""
    job = PlainJob(tmp_path)
    job.run(OLD, BATCHES[:2])
    switch = job.switch(NEW)
    kept = JobHistory(switch.saved_job(read_card(switch.folder)), job.state_folder).load(None)
    ledger = Ledger()
    ledger.source("t").rows_in = 3
    with pytest.raises(UsageError, match=r"WR673.*it has read 0 rows, and its sources give 3 of them now"):
        switch.apply(strategy=Strategy.REBUILD, build=lambda _: replace(kept, ledger=ledger))
    assert read_card(switch.folder).get("version", 1) == 1
    assert job.switch(OLD).review().changes == []
    assert switch.apply(strategy=Strategy.REBUILD, build=lambda _: kept) == 2
