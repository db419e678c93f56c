"""State made anew from the sources: the new text reads all that the job has read, from the beginning, with outputs to nowhere.

The rows come as one batch, in a folder beside the job, which may run meanwhile. What it has read in the end is read up to there as a
second batch, so that the state stands exactly where the job stands.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from windrow.compiler import Compiled
from windrow.jobs.checkpoint import Checkpoint
from windrow.jobs.history import forget_state
from windrow.jobs.identity import NOTES, Origin, make_card, parts_of, read_card, write_card
from windrow.jobs.options import RunOptions
from windrow.jobs.rehearsal import MOST_ROWS, Rehearsal, Shadow, compared_rows
from windrow.jobs.switching import JobSwitch, Review, refuse_missing_rows
from windrow.plan.stages import Job
from windrow.spark.operators.state_columns import column_meanings
from windrow.spark.operators.steps import steps_of
from windrow.spark.state.job_state import JobState
from windrow.spark.state.state_store import StateStore
from windrow.storage import LocalFolder, folder_name

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Building:
    """One job. ``state_at`` is what ``JobSwitch.apply`` asks when the job has stopped."""

    def __init__(self, switch: JobSwitch, shadow: Shadow, place: Path) -> None:
        self._switch, self._shadow, self._place = switch, shadow, place
        self._built: tuple[int, int] | None = None

    def build(self, review: Review) -> None:
        """Read what the job has read by now. Takes as long as reading it does."""
        self._advance(self._switch.job, "new", review.batch)
        refuse_missing_rows(self._switch.job.name, review.rows_read, self._state())

    def compare(self, review: Review) -> Rehearsal:
        """What the old text gives of the same rows beside what the new one has given."""
        old = self._switch.saved_job(read_card(self._switch.folder))
        folder, planned = self._folder("old", old), 0
        self._begin(folder, old, review.batch)
        before = self._shadow.rows(old, self._place / "old", planned)
        same, differences = compared_rows(old, self._switch.job, before, self._rows)
        return Rehearsal(old.name, 0, review.batch, review, same, differences, self._shadow.dropped)

    def state_at(self, batch: int) -> JobState:
        """The state as if the new text had always run, after this batch of the job."""
        if self._built is None or self._built[0] != batch:
            self._advance(self._switch.job, "new", batch)
        return replace(self._state(), batch_id=batch)

    def _state(self) -> JobState:
        assert self._built is not None
        folder = self._folder("new", self._switch.job)
        store = StateStore(folder.child(parts_of(read_card(folder))[0]), meanings=column_meanings(self._switch.job))
        return store.load(self._built[1], steps_of(self._switch.job))

    def _advance(self, job: Job, name: str, batch: int) -> None:
        folder, number = self._folder(name, job), 0 if self._built is None else self._built[1] + 1
        if number == 0:
            self._begin(folder, job, batch)
        else:
            # A run that takes what is there may have begun another batch after the one that was asked for.
            Checkpoint(folder).go_back_to(number - 1)
            forget_state(folder, parts_of(read_card(folder)), number - 1)
            Checkpoint(self._switch.folder).lend(folder, batch, number)
        self._rows = self._shadow.rows(job, self._place / name, number)
        self._built = batch, number

    def _begin(self, folder: LocalFolder, job: Job, batch: int) -> None:
        write_card(folder, {**make_card(job, Origin()), "id": uuid.uuid4().hex})
        notes = Path(self._switch.folder.path, NOTES)
        if notes.is_dir():
            shutil.copytree(notes, Path(folder.path, NOTES))
        Checkpoint(self._switch.folder).lend(folder, batch, 0)

    def _folder(self, name: str, job: Job) -> LocalFolder:
        return LocalFolder(self._place / name / folder_name(job.name))


@contextmanager
def building(
    switch: JobSwitch,
    compiled: Compiled,
    *,
    spark: SparkSession | None = None,
    master: str = "local[*]",
    settings: Mapping[str, str] | None = None,
) -> Iterator[Building]:
    """``settings`` are those of a run."""
    own = {**(settings or {}), "state.home": "resident"}
    options = RunOptions("once", master=master, settings=own, keep_rows=MOST_ROWS, keeps_system_columns=True)
    with tempfile.TemporaryDirectory(prefix="windrow-building-") as place:
        yield Building(switch, Shadow(compiled, spark, options), Path(place))
