"""A file whose statements changed since its state was made is refused, whatever became of its jobs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from windrow.compiler import compile_sql
from windrow.errors import UsageError
from windrow.jobs.changed_file import known_jobs, refuse_changed_file
from windrow.jobs.checkpoint import Checkpoint
from windrow.jobs.identity import CARD
from windrow.plan.stages import Plan
from windrow.storage import folder_name
from windrow.storage.local import LocalFolder

T = "CREATE STREAM t (k STRING, v BIGINT) WITH ('connector' = 'generator');"
U = "CREATE STREAM u (k STRING) WITH ('connector' = 'generator');"
A = "CREATE STREAM a AS SELECT k FROM t WITH ('connector' = 'console');"
B = "CREATE STREAM b AS SELECT v FROM t WITH ('connector' = 'console');"
C = "CREATE STREAM c AS SELECT k FROM u WITH ('connector' = 'console');"


def plan(*statements: str, name: str = "candles.sql") -> Plan:
    return compile_sql("\n".join(statements), name, {}).plan


def begin(state: Path, *jobs: str) -> None:
    """What a run leaves: a card, and a batch that was planned."""
    for job in jobs:
        folder = LocalFolder(state / folder_name(job))
        folder.make()
        folder.replace_atomically(CARD, json.dumps({"job": job}).encode())
        offsets = folder.child("checkpoint").child("offsets")
        offsets.make()
        offsets.replace_atomically("0", b"v1\n{}\n{}\n")


def start(state: Path, given: Plan) -> None:
    known = known_jobs(LocalFolder(state), lambda folder: Checkpoint(folder).has_begun())
    refuse_changed_file(known, given.jobs, given.file)


def names(given: Plan) -> list[str]:
    return [job.name for job in given.jobs]


def test_a_job_has_the_name_of_its_file_whatever_its_statements_are() -> None:
    assert names(plan(T, A)) == names(plan(T, A, B)) == ["candles"]
    assert names(plan(T, A, name="jobs/candles.sql")) == ["candles"]


def test_jobs_of_one_file_are_told_apart_by_their_first_output() -> None:
    assert names(plan(T, U, A, B, C)) == ["candles.a", "candles.c"]


def test_a_file_can_say_what_it_is_called() -> None:
    assert names(plan(T, f"-- @app: shop\n{A}")) == ["shop"]
    assert names(plan(T, f"-- @app: shop\n{A}", f"-- @name: till\n{B}")) == ["till"]


def test_a_text_that_is_no_file_is_named_after_its_outputs() -> None:
    assert names(plan(T, A, B, name="<sql>")) == ["a+b"]


def test_the_same_file_goes_on(tmp_path: Path) -> None:
    begin(tmp_path, *names(plan(T, U, A, C)))
    start(tmp_path, plan(T, U, A, C))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param((T, A), (T, U, A, C), id="another job beside the one there was"),
        pytest.param((T, U, A, C), (T, A), id="a job less"),
        pytest.param((T, U, A, C), (T, U, B, C), id="another first output"),
    ],
)
def test_other_jobs_than_those_with_state_are_refused(before: tuple[str, ...], after: tuple[str, ...], tmp_path: Path) -> None:
    begin(tmp_path, *names(plan(*before)))
    with pytest.raises(UsageError, match=r"WR804.*changed since"):
        start(tmp_path, plan(*after))


def test_a_job_that_is_new_in_a_file_is_refused(tmp_path: Path) -> None:
    begin(tmp_path, "candles.a")
    with pytest.raises(UsageError, match=r"new in it is candles\.c with c"):
        start(tmp_path, plan(T, U, A, C))


def test_state_from_when_jobs_were_named_after_statements_is_found(tmp_path: Path) -> None:
    begin(tmp_path, "a+b")
    with pytest.raises(UsageError, match="named after their statements"):
        start(tmp_path, plan(T, A))


def test_a_text_with_a_statement_more_is_refused(tmp_path: Path) -> None:
    begin(tmp_path, *names(plan(T, A, name="<sql>")))
    with pytest.raises(UsageError, match="WR804"):
        start(tmp_path, plan(T, A, B, name="<sql>"))


def test_another_file_may_share_the_folder(tmp_path: Path) -> None:
    begin(tmp_path, *names(plan(T, A, name="other.sql")))
    start(tmp_path, plan(T, A))


def test_a_job_that_never_began_may_be_mended(tmp_path: Path) -> None:
    LocalFolder(tmp_path / "candles").replace_atomically(CARD, json.dumps({"job": "candles"}).encode())
    start(tmp_path, plan(T, U, A, C))
