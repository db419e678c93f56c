"""A job seen from outside, by its folder alone: the records of its batches, whether it runs, and what holds most of its state.

No Spark is started, and nothing is written. A running job may write meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from windrow.diagnosis.findings import GroupWeight
from windrow.errors import UsageError
from windrow.jobs.batch_records import read_notes, read_records
from windrow.jobs.identity import CARD, RECORDS
from windrow.observe.batch_record import BatchRecord, JobNote
from windrow.observe.status import RUNNING, STARTING, WAITING
from windrow.plan.stages import Aggregate, Job
from windrow.storage import Folder, folder_name
from windrow.storage.lease import holder_of

_POLL = 0.5
# Beyond this the groups of a statement are not looked through: that takes longer than all the rest.
MOST_ROWS = 200_000


@dataclass(frozen=True)
class ObservedJob:
    """``state`` is the folder of all jobs, ``folder`` that of this one."""

    job: Job
    folder: Folder
    state: Folder

    @staticmethod
    def of(job: Job, state: Folder) -> ObservedJob:
        folder = state.child(folder_name(job.name))
        if not folder.exists(CARD):
            hint = "run it first, or name its folder with --state"
            raise UsageError("WR621", f"there is no state of job {job.name} in {state.path}", hint)
        return ObservedJob(job, folder, state)

    @property
    def runner(self) -> str | None:
        """Who runs the job now, in words; None where nobody does."""
        holder = holder_of(self.folder)
        return None if holder is None else holder.who

    @property
    def standing(self) -> str:
        """Whether the job runs, and what is wrong, in words."""
        runner, note = self.runner, next(iter(reversed(self.notes())), None)
        if note is None:
            return "stopped" if runner is None else f"running ({runner})"
        error = f": {note.error.splitlines()[0].removeprefix('waits: ')}" if note.error else ""
        if runner is None and note.state in (RUNNING, WAITING, STARTING):
            return f"ended without a word while {note.state}{error}"
        return f"running ({runner})" if note.state == RUNNING else f"{note.state}{error}"

    def notes(self) -> list[JobNote]:
        return read_notes(self.folder.child(RECORDS))

    def records(self, newest: int | None = None) -> list[BatchRecord]:
        return read_records(self.folder.child(RECORDS), newest)

    def last_run(self, newest: int) -> list[BatchRecord]:
        """The newest batches that one run made: to add up those of several would mix in the time when nothing ran."""
        found = self.records(newest)
        if not found:
            raise UsageError(
                "WR651",
                f"job {self.job.name} has recorded no batch yet in {self.folder.path} ({self.standing})",
                "wait for its first batch; a job of an earlier version records from its next batch on",
            )
        return [record for record in found if record.run == found[-1].run]

    def observe(self, seconds: float, sleep: Callable[[float], None] = time.sleep) -> list[BatchRecord]:
        """The batches that a running job commits within so many seconds from now on."""
        began, deadline = time.time_ns() // 1000, time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0 and self.runner is not None:
            sleep(min(_POLL, left))
        found = [record for record in self.records() if record.at >= began]
        if not found:
            raise UsageError(
                "WR652",
                f"job {self.job.name} committed no batch in these {seconds:.0f} s{self._why_none()}",
                f"look at the batches before with --batches, or at windrow why lag; watch longer than {seconds:.0f} s",
            )
        return found

    def _why_none(self) -> str:
        last = next(iter(reversed(self.notes())), None)
        return "" if last is None or last.error is None else f": it is {last.state}, {last.error.splitlines()[0]}"

    def heaviest(self) -> dict[str, GroupWeight]:
        """The largest group of every statement whose state is in the driver and can be looked through."""
        import polars as pl

        from windrow.jobs.history import JobHistory
        from windrow.windowing.columns import COUNT, END, START

        newest = self.records(1)
        if not newest:
            return {}
        held = {one.name: one for one in newest[-1].operators if one.home == "driver" and 0 < one.rows_held <= MOST_ROWS}
        keyed = [stage.name for stage in self.job.stages if isinstance(stage, Aggregate) and stage.keys and stage.name in held]
        if not keyed:
            return {}
        _, states = JobHistory(self.job, self.state).open_state(None)
        found: dict[str, GroupWeight] = {}
        for state in states:
            if state.statement not in keyed or state.windows is None:
                continue
            keys = [name for name in state.windows.columns if name not in (START, END, COUNT)]
            sums = state.windows.group_by(keys).agg(pl.col(COUNT).sum())
            top = sums.sort(COUNT, descending=True).row(0, named=True)
            text = ", ".join(f"{key} = {top[key]!r}" for key in keys)
            found[state.statement] = GroupWeight(text, top[COUNT], int(sums[COUNT].sum()), sums.height)
        return found
