"""``kill -9`` at every write of apply and rollback: the job is one of the two versions, whole, and nothing is lost or doubled."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tests.property.changed_job import SECOND, PlainJob, Row, Text, column_of, expected
from tests.property.test_cut_over_queries import last_said
from windrow.jobs.pending import pending_rollback

pytestmark = pytest.mark.chaos

ROUNDS = 100
ROOT = Path(__file__).resolve().parents[2]
OLD = Text(("COUNT(*)", "SUM(v)"))
CHANGES = (
    replace(OLD, calls=("SUM(v)", "MAX(v)")),
    replace(OLD, calls=("COUNT(*)", "SUM(v * 2)")),
    replace(OLD, above=0),
    replace(OLD, size=30, advance=10, above=-3),
    replace(OLD, is_keyed=False, size=20, advance=20),
    replace(OLD, delay=5),
)


def rows_of(seed: int) -> list[list[Row]]:
    chance, now, batches = random.Random(seed), 0, []
    for _ in range(8):
        batch = []
        for _ in range(chance.randint(0, 5)):
            now += chance.randint(0, 7)
            batch.append(Row(chance.choice("abc"), chance.randint(-9, 9), max(0, now - chance.randint(0, 1)) * SECOND))
        batches.append(batch)
    return batches


def killed(job: PlainJob, old: Text, new: Text, command: str, step: int) -> bool:
    """Whether it came to that step at all."""
    texts = [json.dumps(asdict(text)) for text in (old, new)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.chaos.changing_job", str(job.folder), job.home, *texts, command, str(step)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr[-2000:]
    return done.returncode != 0


def whole(job: PlainJob, old: Text, new: Text, batches: list[list[Row]], cut: int | None, seen: int) -> None:
    """Every window is of one text, and has every row of it."""
    rows = [row for batch in batches for row in batch]
    said = {window: dict(one.values) for window, one in last_said(job.said).items()}
    of_old, of_new = expected(rows, old), expected(rows, new)
    if cut is not None:
        of_old = {window: values for window, values in of_old.items() if window[1] < cut}
        assert said == {**of_old, **{window: values for window, values in of_new.items() if window[1] >= cut}}
        return
    assert set(said) == set(of_new)
    had = {column_of(call) for call in old.calls}
    for window, values in said.items():
        for column, value in values.items():
            known = of_new[window].get(column, of_old[window].get(column))
            assert value == known or (value is None and column not in had and window[1] <= seen)


def one_round(folder: Path, number: int) -> bool:
    """A change of one kind, cut short at one step of apply or of rollback. Gives whether it came to that step."""
    home = ("resident", "distributed")[number // len(CHANGES) % 2]
    old, new, batches = OLD, CHANGES[number % len(CHANGES)], rows_of(number)
    command, step = ("apply", "rollback")[number // 2 % 2], number // 4
    job = PlainJob(folder, home)
    job.run(old, batches[:4])
    review = job.switch(new).review()
    assert review.obstacles == []
    before = list(job.said)
    if command == "rollback":
        job.switch(new).apply()
        job.run(new, batches[4:6])
    was_killed = killed(job, old, new, command, step)
    if pending_rollback(job.switch(new).folder) is not None:
        job.switch(new).rollback()
    is_new = not job.switch(new).review().changes
    if command == "rollback" and not is_new:
        job.said = before
    present = new if is_new else old
    job.run(present, batches[6 if command == "rollback" and is_new else 4 :], is_end=True)
    seen = max((row.at for batch in batches[:4] for row in batch), default=-1)
    cut = review.cut.at if is_new and review.cut is not None else None
    whole(job, old, present, batches, cut, seen)
    account = job.ledger(present).statement("o")
    assert account.rows_in == sum(map(len, batches))
    assert account.is_balanced
    return was_killed


@pytest.mark.parametrize("first", range(0, ROUNDS, 10))
def test_a_kill_at_any_write_leaves_one_version_whole(first: int, tmp_path: Path) -> None:
    killed_in = [one_round(tmp_path / str(number), number) for number in range(first, first + 10)]
    print(f"rounds {first} to {first + 9}, killed in {sum(killed_in)} of them")
    assert sum(killed_in), "some step is there"
