"""``kill -9`` at every write of apply and rollback: the job is one of the two versions, whole, and nothing is lost or doubled."""

from __future__ import annotations

import json
import os
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

ROUNDS = int(os.environ.get("WINDROW_CHAOS_ROUNDS", "100"))
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
    """Every window is of one text, has every row of it, and is written once."""
    rows = [row for batch in batches for row in batch]
    written = job.written(new)
    said = {window: dict(one.values) for window, one in last_said(written).items()}
    assert len(said) == len(written), "each window is written once"
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


def one_round(folder: Path, number: int, step: int) -> bool:
    """A change of one kind, cut short at one step of apply or of rollback. Gives whether it came to that step."""
    home = ("resident", "distributed")[number // len(CHANGES) % 2]
    before, after = (replace(text, out=str(folder / "out")) for text in (OLD, CHANGES[number % len(CHANGES)]))
    batches = rows_of(number)
    command = ("apply", "rollback")[number // 2 % 2]
    job = PlainJob(folder, home, writes=True)
    job.run(before, batches[:4])
    review = job.switch(after).review()
    assert review.obstacles == []
    if command == "rollback":
        job.switch(after).apply()
        job.run(after, batches[4:6])
    if not killed(job, before, after, command, step):
        return False
    if pending_rollback(job.switch(after).folder) is not None:
        job.switch(after).rollback()
    is_new = not job.switch(after).review().changes
    present = after if is_new else before
    job.run(present, batches[6 if command == "rollback" and is_new else 4 :], is_end=True)
    seen = max((row.at for batch in batches[:4] for row in batch), default=-1)
    cut = review.cut.at if is_new and review.cut is not None else None
    whole(job, before, present, batches, cut, seen)
    account = job.ledger(present).statement("o")
    assert account.rows_in == sum(map(len, batches))
    assert account.is_balanced
    return True


@pytest.mark.parametrize("first", range(0, ROUNDS, 10))
def test_a_kill_at_any_write_leaves_one_version_whole(first: int, tmp_path: Path) -> None:
    """Every round is one with a kill: a step that there is not is halved until there is one."""
    steps = []
    for number in range(first, min(first + 10, ROUNDS)):
        step = number // 4
        while not one_round(tmp_path / f"{number}-{step}", number, step):
            step //= 2
        steps.append(step)
    print(f"rounds {first} to {first + len(steps) - 1}, killed at steps {steps}")
