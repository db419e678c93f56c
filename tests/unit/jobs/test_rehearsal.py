"""What a rehearsal copies, and how rows of two texts are compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.property.changed_job import SECOND, PlainJob, Row, Text
from windrow.errors import UsageError
from windrow.jobs.checkpoint import Checkpoint
from windrow.jobs.history import JobHistory
from windrow.jobs.rehearsal import compared, copy_before, first_batch, plan_as_one, rehearse
from windrow.storage import LocalFolder

OLD = Text(("COUNT(*)",))
BATCHES = [[Row("a", 1, 1 * SECOND)], [Row("a", 3, 12 * SECOND)], [Row("a", 4, 33 * SECOND)]]


def test_there_is_nothing_to_rehearse_with(tmp_path: Path) -> None:
    job = PlainJob(tmp_path)
    job.run(OLD, [])
    with pytest.raises(UsageError) as error:
        rehearse(job.switch(replace(OLD, above=1)), job.compiled(OLD))
    assert error.value.code == "WR678"


def test_a_rehearsal_begins_as_many_batches_back_as_there_are_of_the_version(tmp_path: Path) -> None:
    job = PlainJob(tmp_path)
    job.run(OLD, BATCHES)
    switch = job.switch(OLD)
    assert [first_batch(switch, batches) for batches in (1, 2, 3, 50)] == [2, 1, 0, 0]
    job.switch(replace(OLD, above=0)).apply()
    job.run(replace(OLD, above=0), [[Row("a", 4, 40 * SECOND)]])
    assert first_batch(job.switch(OLD), 50) == 3


def test_a_copy_stands_before_the_batches_and_reads_them_as_one(tmp_path: Path) -> None:
    job = PlainJob(tmp_path)
    job.run(OLD, BATCHES)
    switch = job.switch(OLD)
    before = {path: path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file()}
    copy = LocalFolder(tmp_path / "copy" / "q")
    copy_before(switch, switch.job, copy, 1)
    assert Checkpoint(copy).last_planned() == 0, "nothing is there that apply would take back"
    plan_as_one(switch, copy, 1, 2)
    assert {path: path.read_bytes() for path in before} == before
    assert (Checkpoint(copy).last_committed(), Checkpoint(copy).last_planned()) == (0, 1)
    assert JobHistory(switch.job, tmp_path / "copy").load(None).batch_id == 0


def emission(key: str | None, start: int, kind: str = "final", revision: int = 1, **columns: Any) -> dict[str, Any]:
    return {**columns, "_window_start": start, "_window_end": start + 1, "_emission": kind, "_revision": revision, "_key": key}


def test_rows_are_compared_by_group_and_window() -> None:
    old = [emission("a", 1, n=3), emission("b", 1, n=1)]
    new = [emission("a", 1, n=2), emission("a", 2, n=5)]
    same, pairs = compared("o", old, new)
    assert same == 0
    assert [(pair.of["_key"], pair.old, pair.new) for pair in pairs] == [
        ("a", {"n": 3}, {"n": 2}),
        ("b", {"n": 1}, None),
        ("a", None, {"n": 5}),
    ]


def test_every_emission_of_a_window_is_compared() -> None:
    old = [emission("a", 1, "early", 1, n=1), emission("a", 1, "early", 2, n=2), emission("a", 1, "final", 3, n=3)]
    new = [emission("a", 1, "early", 1, n=1), emission("a", 1, "early", 2, n=9), emission("a", 1, "final", 3, n=3)]
    same, pairs = compared("o", old, new)
    assert (same, [(pair.of["_revision"], pair.old, pair.new) for pair in pairs]) == (2, [(2, {"n": 2}, {"n": 9})])
    same, pairs = compared("o", old, new[:1])
    assert (same, [(pair.of["_emission"], pair.of["_revision"]) for pair in pairs]) == (1, [("early", 2), ("final", 3)])


def test_groups_of_several_keys_are_told_apart_by_their_columns() -> None:
    old = [emission(None, 1, k="a", j="x", n=1), emission(None, 1, k="a", j="y", n=2)]
    new = [emission(None, 1, k="a", j="x", n=1), emission(None, 1, k="a", j="y", n=3)]
    same, pairs = compared("o", old, new, frozenset(("k", "j")))
    assert (same, [(pair.of["j"], pair.old, pair.new) for pair in pairs]) == (
        1,
        [("y", {"k": "a", "j": "y", "n": 2}, {"k": "a", "j": "y", "n": 3})],
    )
    # Without them nobody knows which rows belong together.
    same, pairs = compared("o", old, [emission(None, 1, k="a", j="x", n=5), emission(None, 1, k="a", j="y", n=3)])
    assert (same, sum(pair.old is None for pair in pairs), sum(pair.new is None for pair in pairs)) == (0, 2, 2)
