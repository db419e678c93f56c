"""Writes down what every committed batch of a running job did. It is for looking: whatever goes wrong with it, the job goes on."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from dataclasses import replace

from windrow.jobs.batch_records import BatchRecordLog
from windrow.observe.batch_record import BatchRecord, HolderRecord, JobNote, TableRecord
from windrow.observe.status import JobStatus
from windrow.spark.execution.batch import BatchResult
from windrow.spark.execution.batch_recorder import BatchRecorder
from windrow.spark.execution.executor import BatchExecutor


class BatchRecording:
    """One run of a job, which may begin several times: after an outage it goes on from what is durable."""

    def __init__(self, log: BatchRecordLog, max_bytes: int | None = None, max_groups: int | None = None) -> None:
        self._log = log
        self._limits = max_bytes, max_groups
        self._run = uuid.uuid4().hex[:12]
        self._recorder: BatchRecorder | None = None
        self._watermark: int | None = None
        # A batch that was planned before this run has been begun by another one.
        self._planned = -1
        self._begun = (-1, 0)

    @property
    def run(self) -> str:
        """The name of this run, by which its batches are told from those of others."""
        return self._run

    def begin(self, executor: BatchExecutor, last_planned: int, status: JobStatus) -> None:
        self._recorder = BatchRecorder(executor)
        self._watermark = status.watermark
        if self._begun[1] == 0:
            self._planned = last_planned

    def count(self, batch_id: int) -> int:
        """A batch is begun: the how-manieth attempt at it this is, as far as this run can know."""
        before = self._begun[1] if self._begun[0] == batch_id else int(batch_id == self._planned)
        self._begun = batch_id, before + 1
        return before + 1

    def take(
        self,
        result: BatchResult,
        arrival: int,
        arrived: Mapping[str, Mapping[int, int]],
        status: JobStatus,
        *,
        replayed: int = 0,
        is_end: bool = False,
    ) -> None:
        """``status`` is that of the job after the batch; ``arrived`` are rows by source and partition, as offsets tell them."""
        try:
            assert self._recorder is not None, "a job begins before its first batch"
            found = self._recorder.record(result, arrived, arrival)
            found = replace(found, is_end=is_end, replayed=replayed, run=self._run, attempt=max(1, self._begun[1]))
            sinks = {name: seconds for name, seconds in status.sink_seconds.items() if name in result.outputs}
            self._log.write(replace(self._completed(found, status), sinks=sinks))
        except Exception as error:
            self._log.tell_failure(f"{type(error).__name__}: {error}")
        self._watermark = status.watermark

    def note(self, state: str, error: str | None = None) -> None:
        """The job has come into a state."""
        self._log.note(JobNote(time.time_ns() // 1000, state, error))

    def close(self) -> None:
        self._log.flush()

    def _completed(self, found: BatchRecord, status: JobStatus) -> BatchRecord:
        held = status.held_by
        stale = {name: replace(found.tables.get(name, TableRecord()), stale=why) for name, why in status.stale_tables.items()}
        return replace(
            found,
            at=time.time_ns() // 1000,
            watermark_before=self._watermark,
            watermark=status.watermark,
            held_by=None if held is None else HolderRecord(held.source, held.partition, held.reached, held.behind_seconds),
            tables={**found.tables, **stale},
            max_bytes=self._limits[0],
            max_groups=self._limits[1],
        )
