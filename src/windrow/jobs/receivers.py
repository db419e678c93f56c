"""The OTAP sources of a job as its state folder knows them, without Spark: how far they are, what came late, the way back."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from windrow.connectors.otap.runtime import notes_folder
from windrow.connectors.otap.settings import read_settings
from windrow.errors import UsageError
from windrow.jobs.history import JobHistory
from windrow.jobs.identity import NOTES
from windrow.otap.discovery import DataFile, Discovery
from windrow.otap.footers import FooterCache
from windrow.otap.layout import Base
from windrow.otap.notes import FOOTERS, LateRows, Notes
from windrow.otap.tables import timed_by
from windrow.otap.timing import busy_windows
from windrow.plan.stages import Job, Read
from windrow.storage import Folder, folder_name

OTAP = "otap"


@dataclass(frozen=True)
class ReceiverStatus:
    """Times are nanoseconds. Windows ``safe`` could be read now, ``waiting`` ones not yet; ``in_work`` are those of a batch not yet done.

    Counts of reading, and of windows that are done, are of the plans kept.
    """

    begin: int | None
    done: int | None
    windows_done: int
    in_work: int
    safe: int
    waiting: int
    files: int
    bytes_on_disk: int
    left_out: dict[str, str]
    late_files: int
    late_rows: int
    rows: int
    bytes_read: int
    ambiguous: int
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Reprocessing:
    """What reading again from ``start`` replaces: batches that run again, and late rows that will be taken in."""

    start: int
    until: int
    back_to: int
    batches: int
    late: tuple[LateRows, ...]


class JobReceivers:
    """The OTAP sources of one job."""

    def __init__(self, job: Job, state: str | Path | Folder) -> None:
        self.job = job
        self.reads = [read for read in job.reads if read.connector == OTAP]
        self._history = JobHistory(job, state)

    def notes(self, read: Read) -> Notes:
        return Notes(Path(notes_folder(self._history.folder.child(f"{NOTES}/{folder_name(read.name)}").path)))

    def late(self, read: Read) -> list[LateRows]:
        return sorted(self.notes(read).late(), key=lambda one: (one.window, one.file))

    def status(self, read: Read, now: int | None = None) -> ReceiverStatus:
        settings, notes = read_settings(dict(read.options)), self.notes(read)
        base = Base(settings.path)
        discovery = Discovery(base, FooterCache(notes.folder / FOOTERS), settings.timing, settings.rule)
        files = discovery.timed_files(timed_by(settings.table))
        ranges = [file.times for file in files if file.times is not None]
        plans, begin = notes.plans(), notes.begin()
        done = plans[-1].end if plans else begin
        clock = now if now is not None else settings.now if settings.now is not None else time.time_ns()
        last = max((greatest for _, greatest in ranges), default=0) + 1
        first = done if done is not None else min((least for least, _ in ranges), default=0)
        left = list(busy_windows(settings.timing, first, max(last, first), ranges))
        safe = sum(settings.timing.safe_at(window) <= clock for window in left)
        late, reports = notes.late(), notes.reports()
        committed = self._committed(read)
        windows_done = len({cover.window for plan in plans if plan.end <= committed for cover in plan.covers})
        return ReceiverStatus(
            begin,
            done,
            windows_done,
            len({cover.window for plan in plans for cover in plan.covers}) - windows_done,
            safe,
            len(left) - safe,
            len(files),
            sum(file.listed.size for file in files),
            {**_left_out(files), **{path: fault for report in reports for path, fault in report.faults.items()}},
            len({one.file for one in late}),
            sum(one.rows for one in late),
            sum(report.rows for report in reports),
            sum(report.bytes for report in reports),
            sum(report.ambiguous for report in reports),
            tuple(sorted({table for report in reports for table in report.missing})),
        )

    def _committed(self, read: Read) -> int:
        """Up to where the batches that are done go."""
        place = self.job.reads.index(read)
        offsets = [own[place].get("until_ns") for own in self._history.reached().values() if place < len(own)]
        return max((until for until in offsets if until is not None), default=-(2**63))

    def plan_reprocessing(self, start: int, until: int | None) -> Reprocessing:
        """What it would take to read windows from ``start`` again; nothing is changed yet."""
        reached = self._history.reached()
        places = [place for place, read in enumerate(self.job.reads) if read.connector == OTAP]
        ends = {batch: [offsets[place].get("until_ns") for place in places if place < len(offsets)] for batch, offsets in reached.items()}
        before = [batch for batch, own in ends.items() if all(end is not None and end <= start for end in own)]
        if not before:
            kept = min((end for own in ends.values() for end in own if end is not None), default=None)
            able = "" if kept is None else f"windows from {_text(kept)} on can be read again; for earlier ones, "
            message = f"no state of job {self.job.name} is kept from before that window"
            raise UsageError("WR884", message, f"{able}start with a new --state folder: windrow run FILE --state DIR")
        back_to = max(before)
        at = min(end for end in ends[back_to] if end is not None)
        late = tuple(one for read in self.reads for one in self.late(read) if one.window.start >= at)
        done = max((plan.end for read in self.reads for plan in self.notes(read).plans()), default=at)
        return Reprocessing(at, done if until is None else max(until, done), back_to, max(reached) - back_to, late)

    def reprocess(self, planned: Reprocessing) -> None:
        """Take the job back; its next run reads the windows with the files that are there then."""
        self._history.restore(planned.back_to)
        for read in self.reads:
            notes = self.notes(read)
            notes.forget_plans(planned.start)
            notes.forget_late(planned.start)


def _left_out(files: list[DataFile]) -> dict[str, str]:
    return {file.path: file.fault for file in files if file.fault is not None}


def _text(nanos: int) -> str:
    return datetime.fromtimestamp(nanos // 1_000_000_000, UTC).isoformat()
