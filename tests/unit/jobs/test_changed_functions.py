"""A Python function of another body, below and above what a job keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.property.changed_job import SECOND, PlainJob, Row, Text
from windrow.changes import Change, Strategy, changes_between, cut_over, mixed
from windrow.compiler import compile_sql
from windrow.errors import JobError, UsageError
from windrow.jobs.cut_overs import as_it_runs, functions_lost
from windrow.jobs.identity import claim, read_card
from windrow.plan.explain_json import job_to_json
from windrow.plan.stages import Job
from windrow.storage import LocalFolder

SOURCE = """
CREATE STREAM t (k STRING, v DOUBLE, ts TIMESTAMP) WITH ('connector' = 'files', 'path' = 'in', 'event.time.field' = 'ts');
CREATE FUNCTION net(x DOUBLE) RETURNS DOUBLE LANGUAGE PYTHON AS 'prices:net';
"""
SUMS = "CREATE STREAM o AS SELECT k, SUM(v) AS n FROM t GROUP BY k WINDOW TUMBLING(1m);"
BELOW = SUMS.replace("SUM(v)", "SUM(net(v))")
ABOVE = SUMS.replace("SUM(v)", "net(SUM(v))")


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    body("x * 0.8")


def body(value: str) -> None:
    Path("prices.py").write_text(f"def net(x):\n    return {value}\n")


def job_of(statements: str) -> Job:
    return compile_sql(f"{SOURCE}{statements}", "q.sql", {}).plan.jobs[0]


def change(statements: str, other: str | None = None) -> tuple[Job, Job, list[Change]]:
    old = job_of(statements)
    body("x * 0.7")
    new = job_of(other or statements)
    return old, new, changes_between(job_to_json(old), job_to_json(new))


def told(changes: list[Change]) -> list[tuple[str, bool]]:
    return [(each.klass.value, bool(each.refused)) for each in changes]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        (BELOW, [("E", True)]),
        (f"{SUMS[:-1]} ALLOWED_LATENESS 5s HAVING net(SUM(v)) > 1;", [("E", True)]),
        (f"{SUMS[:-1]} HAVING net(SUM(v)) > 1;", [("B", False)]),
        (SUMS.replace("FROM t", "FROM t WHERE NET(v) > 1"), [("E", True)]),
        (SUMS.replace("SELECT k", "SELECT net(v) AS k").replace("BY k", "BY net(v)"), [("E", True)]),
        (f"CREATE STREAM p AS SELECT k, net(v) AS v FROM t; {SUMS.replace('FROM t', 'FROM p')}", [("E", True)]),
        (ABOVE, [("B", False)]),
        (SUMS, []),
        ("CREATE STREAM o AS SELECT k, net(v) AS n FROM t WHERE net(v) > 1;", [("B", False)]),
        ("CREATE STREAM o AS SELECT k, SUM(net(v)) OVER (PARTITION BY k ORDER BY ts) AS n FROM t;", [("E", True)]),
    ],
)
def test_another_body_is_of_the_class_of_what_it_reaches(statements: str, expected: list[tuple[str, bool]]) -> None:
    assert told(change(statements)[2]) == expected


def test_it_is_told_by_name() -> None:
    assert change(BELOW)[2][0].what == "function net: its code in prices is another"


def test_a_comment_is_no_change() -> None:
    old = job_of(BELOW)
    Path("prices.py").write_text(f"# of the shop\n{Path('prices.py').read_text()}")
    assert changes_between(job_to_json(old), job_to_json(job_of(BELOW))) == []


def test_another_function_under_the_name() -> None:
    Path("prices.py").write_text("def net(x):\n    return x\n\ndef gross(x):\n    return x\n")
    old = job_of(BELOW)
    new = compile_sql(f"{SOURCE.replace('prices:net', 'prices:gross')}{BELOW}", "q.sql", {}).plan.jobs[0]
    found = changes_between(job_to_json(old), job_to_json(new))
    assert told(found) == [("E", True)]
    assert "target is prices:gross, and was prices:net" in found[0].what


def test_no_cut_is_made_where_the_old_code_is_gone() -> None:
    """Not even where another change of the statement would be cut over."""
    old, new, changes = change(BELOW, BELOW.replace("FROM t", "FROM t WHERE v > 0"))
    cut, stages = cut_over(old, new, changes)
    assert stages == ()
    assert any("a name of its own" in each.refused for each in cut)


def test_it_can_be_mixed() -> None:
    old, new, changes = change(BELOW)
    assert told(mixed(old, new, changes)) == [("E", False)]


def test_windows_of_a_text_whose_function_is_another_now_cannot_finish() -> None:
    old = job_of(BELOW)
    card = {"plan": job_to_json(old)}
    new = job_of(SUMS.replace("SUM(v)", "SUM(v + 1)"))
    assert functions_lost(card, job_of(BELOW), new, ("o",)) == {}
    body("x * 0.7")
    assert list(functions_lost(card, job_of(BELOW), new, ("o",))) == ["net"]


def test_a_run_refuses_it_below_the_state_and_takes_it_above(tmp_path: Path) -> None:
    for statements, is_refused in ((BELOW, True), (ABOVE, False)):
        body("x * 0.8")
        folder = LocalFolder(tmp_path / f"state-{is_refused}")
        claim(folder, job_of(statements))
        body("x * 0.7")
        if is_refused:
            with pytest.raises(UsageError, match="function net: its code in prices is another") as caught:
                claim(folder, job_of(statements))
            assert caught.value.code == "WR804"
        else:
            claim(folder, job_of(statements))


def test_state_of_a_version_that_noted_no_code_is_taken_as_it_is(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path / "state")
    claim(folder, job_of(BELOW))
    card: dict[str, Any] = read_card(folder)
    for function in card["plan"]["functions"]:
        del function["code"]
    folder.replace_atomically("job.json", json.dumps(card).encode())
    body("x * 0.7")
    claim(folder, job_of(BELOW))
    assert read_card(folder)["plan"]["functions"][0]["code"], "from now on it is noted"


class WithFunction(Text):
    """The query of the random changes, with the function created before it."""

    def sql(self) -> str:
        create = "CREATE FUNCTION net(x INT) RETURNS INT LANGUAGE PYTHON AS 'prices:net';\n"
        return create + super().sql()


ROWS = [[Row("a", 1, 1 * SECOND), Row("b", 2, 4 * SECOND)], [Row("a", 3, 12 * SECOND)]]


def test_a_state_is_carried_over_to_other_code_when_somebody_says_so(tmp_path: Path) -> None:
    job, text = PlainJob(tmp_path), WithFunction(("SUM(net(v))",))
    job.run(text, ROWS[:1])
    body("x * 0.7")
    with pytest.raises(UsageError, match="WR804"):
        job.run(text, ROWS[1:])
    review = job.switch(text).review()
    assert (review.klass.value, review.can_apply, review.cut) == ("E", False, None)
    assert "a name of its own" in review.obstacles[0]
    with pytest.raises(UsageError, match="WR673"):
        job.switch(text).apply()
    assert job.switch(text).review(Strategy.REBUILD).can_apply
    assert "the old text would run with function net as it is now" in job.switch(text).review(Strategy.BLUE_GREEN).obstacles[0]
    assert job.switch(text).apply(strategy=Strategy.MIX) == 2
    assert job.switch(text).review().changes == []
    job.run(text, ROWS[1:], is_end=True)
    assert len(job.said) == 3


def test_windows_that_are_open_need_the_function_that_counted_them(tmp_path: Path) -> None:
    """The new text does without it; those windows would go on with other code."""
    job, old, new = PlainJob(tmp_path), WithFunction(("SUM(net(v))",)), Text(("SUM(v)",))
    job.run(old, ROWS[:1])
    assert job.switch(new).review().can_apply
    body("x * 0.7")
    obstacles = job.switch(new).review().obstacles
    assert obstacles == [
        "windows that are open need function net as it was, and its code in prices is another: give the new one a name of its own"
    ]
    body("x * 0.8")
    job.switch(new).apply()
    body("x * 0.7")
    told = job.switch(new).review()
    assert told.closing is not None, "only looking at it needs no function"
    folder = job.switch(new).folder
    compiled = job.compiled(new).plan.jobs[0]
    with pytest.raises(JobError, match=r"WR671.*function net of version 1 .* is another now"):
        as_it_runs(compiled, folder, read_card(folder), is_looked_at=False)
    body("x * 0.8")
    as_it_runs(compiled, folder, read_card(folder), is_looked_at=False)
    job.run(new, ROWS[1:], is_end=True)
    assert [(one.key, one.start // SECOND) for one in job.said] == [("a", 0), ("b", 0), ("a", 10)]
