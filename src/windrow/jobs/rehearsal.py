"""A change tried before it is made: the old and the new text take the same recent rows, in copies of the state, with outputs to nowhere.

The rows of the last batches are read again from their sources, as one batch. Nothing of the job is touched.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.changes import Strategy, other_functions
from windrow.compiler import Compiled
from windrow.errors import UsageError
from windrow.jobs.checkpoint import Checkpoint
from windrow.jobs.handle import GLANCE
from windrow.jobs.history import forget_notes, forget_state
from windrow.jobs.identity import Origin, make_card, parts_of, read_card, write_card
from windrow.jobs.job_versions import number_of
from windrow.jobs.options import RunOptions
from windrow.jobs.rows import TOLD_APART_BY
from windrow.jobs.runner import start
from windrow.jobs.switching import JobSwitch, Review
from windrow.model.expr import Slot
from windrow.plan.explain_json import job_to_json
from windrow.plan.stages import Aggregate, Job, Plan, Write
from windrow.storage import LocalFolder, folder_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCHES = 10
MOST_ROWS = 100_000
_SECONDS = 600.0
_NOT_COPIED = shutil.ignore_patterns("lease*", "dead_letters", "records", "spill*", "*.log", "events*")


@dataclass(frozen=True)
class RowPair:
    """A row that both texts give, or one of them: by what tells it from others, and its columns."""

    statement: str
    of: Mapping[str, Any]
    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None


@dataclass(frozen=True)
class Rehearsal:
    """What the texts gave of the rows of batches ``first`` to ``last``. ``same`` counts the rows that they give alike.

    ``dropped`` counts the oldest ones, which were too many to keep: of these nothing is known. ``functions`` are others than the old text
    had, which has run with those of now.
    """

    job: str
    first: int
    last: int
    review: Review
    same: int = 0
    differences: list[RowPair] = field(default_factory=list)
    dropped: int = 0
    functions: tuple[str, ...] = ()


def rehearse(
    switch: JobSwitch,
    compiled: Compiled,
    *,
    batches: int = BATCHES,
    strategy: Strategy = Strategy.SAFE,
    spark: SparkSession | None = None,
    master: str = "local[*]",
    settings: Mapping[str, str] | None = None,
) -> Rehearsal:
    """Run both texts over the rows of the last batches, and compare what they give."""
    if not switch.folder.is_local:
        raise UsageError("WR678", "a state folder that is not on a local disk cannot be copied for a rehearsal", "rehearse on a copy of it")
    card, last = read_card(switch.folder), Checkpoint(switch.folder).last_committed()
    first = first_batch(switch, batches)
    old = switch.saved_job(card)
    if [read.name for read in old.reads] != [read.name for read in switch.job.reads]:
        raise UsageError(
            "WR678", f"job {old.name} reads other sources now, so its recent rows are no input of both texts", "run it as a copy"
        )
    run = Shadow(
        compiled, spark, RunOptions("once", master=master, settings=settings or {}, keep_rows=MOST_ROWS, keeps_system_columns=True)
    )
    with tempfile.TemporaryDirectory(prefix="windrow-rehearsal-") as place:
        folders = [LocalFolder(Path(place, name, folder_name(old.name))) for name in ("old", "new")]
        for folder in folders:
            copy_before(switch, old, folder, first)
        tried = JobSwitch(switch.job, switch.origin, LocalFolder(Path(place, "new")), switch.file, switch.recompile)
        review = tried.review(strategy)
        # While no batch is planned: one that was begun would be taken back, from the outputs of the job itself.
        tried.apply(strategy=strategy)
        for folder in folders:
            plan_as_one(switch, folder, first, last)
        before = run.rows(old, Path(place, "old"), first)
        after = run.rows(switch.job, Path(place, "new"), first)
    same, differences = compared_rows(old, switch.job, before, after)
    others = tuple(other_functions(card["plan"], job_to_json(old)))
    return Rehearsal(old.name, first, last, review, same, differences, run.dropped, others)


def first_batch(switch: JobSwitch, batches: int) -> int:
    """The batch that the rehearsal begins with: so many back, as far as the present version and Spark's notes go."""
    card, checkpoint = read_card(switch.folder), Checkpoint(switch.folder)
    last, known = checkpoint.last_committed(), checkpoint.restorable()
    # What the first batch of all read is known without a note of what was before it.
    oldest = min(known, default=last)
    first = max(last - batches, int(card.get("since_batch", -1)), oldest if oldest > 0 else -1)
    if first >= last:
        hint = "let the job run for a batch or two, and rehearse then"
        raise UsageError("WR678", f"there is no batch of version {number_of(card)} of job {switch.job.name} to rehearse with", hint)
    return first + 1


def copy_before(switch: JobSwitch, old: Job, folder: LocalFolder, first: int) -> None:
    """The job as it stood before a batch."""
    shutil.copytree(switch.folder.path, folder.path, ignore=_NOT_COPIED)
    Checkpoint(folder).go_back_to(first - 1)
    forget_notes(folder, old, first - 1)
    forget_state(folder, parts_of(read_card(folder)), first - 1)


def plan_as_one(switch: JobSwitch, folder: LocalFolder, first: int, last: int) -> None:
    """The copy is about to read at once what the job has read in these batches."""
    Checkpoint(folder).plan_as(first, Checkpoint(switch.folder).planned(last))


class Shadow:
    """Runs jobs with outputs to nowhere. ``dropped`` counts the rows that were too many to keep."""

    def __init__(self, compiled: Compiled, spark: SparkSession | None, options: RunOptions) -> None:
        self._compiled, self._spark, self._options = compiled, spark, options
        self.dropped = 0

    def rows(self, job: Job, state: Path, batch: int) -> dict[str, list[dict[str, Any]]]:
        """What each output gets in one batch."""
        shadow = _with_outputs_to_nowhere(job)
        folder = LocalFolder(state / folder_name(job.name))
        told = make_card(shadow, Origin())
        card = read_card(folder)
        write_card(folder, {**card, "plan": told["plan"], "fingerprint": told["fingerprint"]})
        compiled = replace(self._compiled, plan=Plan((shadow,), file=self._compiled.plan.file))
        jobs = start(compiled, replace(self._options, state=state), self._spark)
        try:
            waited = 0.0
            while Checkpoint(folder).last_committed() < batch and not jobs.await_end(GLANCE) and waited < _SECONDS:
                waited += GLANCE
        finally:
            jobs.stop()
        kept = [jobs.output(write.input, up_to=batch) for write in shadow.writes]
        self.dropped += sum(rows.dropped for rows in kept)
        return {rows.name: list(rows) for rows in kept}


def _with_outputs_to_nowhere(job: Job) -> Job:
    """Rows are kept for whoever asks, and go nowhere else."""
    shadows = {write.input: Write(write.input, "memory", (), columns=write.columns, key=write.key) for write in job.writes}
    stages = tuple(stage for stage in job.stages if not isinstance(stage, Write))
    return replace(job, stages=(*stages, *shadows.values()), metrics=(), limits=())


Given = Mapping[str, list[dict[str, Any]]]


def compared_rows(old: Job, new: Job, before: Given, after: Given) -> tuple[int, list[RowPair]]:
    """What both texts gave, statement by statement: how many rows are the same, and the others."""
    same, differences = 0, list[RowPair]()
    for statement in dict.fromkeys([*before, *after]):
        keys = _group_columns(old, new, statement)
        alike, pairs = compared(statement, before.get(statement, []), after.get(statement, []), keys)
        same, differences = same + alike, [*differences, *pairs]
    return same, differences


def compared(
    statement: str, old: list[dict[str, Any]], new: list[dict[str, Any]], keys: frozenset[str] = frozenset()
) -> tuple[int, list[RowPair]]:
    """How many rows are the same, and the others: emissions by group, window and revision, other rows each by itself.

    ``keys`` are the columns that groups are known by, beside what the system knows of them.

    >>> a, b = ({"_key": "x", "_window_start": 1, "_emission": "change", "_revision": 2, "n": n} for n in (3, 4))
    >>> compared("o", [a], [b])[1][0].of
    {'_window_start': 1, '_key': 'x', '_emission': 'change', '_revision': 2}
    >>> compared("o", [{"n": 1}, {"n": 1}], [{"n": 1}])
    (1, [RowPair(statement='o', of={}, old={'n': 1}, new=None)])
    """
    before, after = _by_identity(old, keys), _by_identity(new, keys)
    same, found = 0, list[RowPair]()
    for name in dict.fromkeys([*before, *after]):
        alike, left, right = _unlike(before.get(name, []), after.get(name, []))
        same += alike
        if len(left) == len(right) == 1 and "_emission" in left[0]:
            found.append(RowPair(statement, _of(left[0], keys), _visible(left[0]), _visible(right[0])))
            continue
        found += [RowPair(statement, _of(row, keys), _visible(row), None) for row in left]
        found += [RowPair(statement, _of(row, keys), None, _visible(row)) for row in right]
    return same, sorted(found, key=lambda pair: repr(sorted(pair.of.items(), reverse=True)))


def _by_identity(rows: list[dict[str, Any]], keys: frozenset[str]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(repr(_of(row, keys)), []).append(row)
    return found


def _unlike(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> tuple[int, list[dict[str, Any]], list[dict[str, Any]]]:
    """How many rows both have, and those that only one of them has, in order."""
    missing = Counter(repr(_visible(row)) for row in new) - Counter(repr(_visible(row)) for row in old)
    right = _taken_out(reversed(new), missing)
    surplus = Counter(repr(_visible(row)) for row in old) - Counter(repr(_visible(row)) for row in new)
    left = _taken_out(reversed(old), surplus)
    return len(old) - len(left), left, right


def _taken_out(rows: Iterable[dict[str, Any]], wanted: Counter[str]) -> list[dict[str, Any]]:
    found = []
    for row in rows:
        name = repr(_visible(row))
        if wanted[name] > 0:
            wanted[name] -= 1
            found.append(row)
    return found[::-1]


def _of(row: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    """What tells an emission from others. Keys of groups have columns of their own where there are several."""
    known = {name: row[name] for name in TOLD_APART_BY if row.get(name) is not None}
    return known | {name: row[name] for name in row if name in keys and "_key" not in known}


def _visible(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in TOLD_APART_BY}


def _group_columns(old: Job, new: Job, statement: str) -> frozenset[str]:
    """The columns that hold nothing but keys of groups, in both texts."""
    found = []
    for job in (old, new):
        stage = next((each for each in job.stages if each.name == statement), None)
        slots = {name for name, _ in stage.keys} if isinstance(stage, Aggregate) else set()
        items = stage.output.items if isinstance(stage, Aggregate) else ()
        found.append(frozenset(item.name for item in items if isinstance(item.expr, Slot) and item.expr.name in slots))
    return found[0] & found[1]
