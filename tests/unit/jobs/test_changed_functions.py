"""A Python function of another body, below and above what a job keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from windrow.changes import Change, changes_between, cut_over, mixed
from windrow.compiler import compile_sql
from windrow.errors import UsageError
from windrow.jobs.cut_overs import functions_lost
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
