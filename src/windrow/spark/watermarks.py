"""How far event time has come, for every stage of a job."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.plan.stages import Aggregate, Job, Read
from windrow.spark.batch import Run
from windrow.spark.lineage import held_back, roots_of
from windrow.windowing.clock import Clock
from windrow.windowing.columns import FOREVER


class Watermarks:
    """``partitions`` are those of each source, where they are known."""

    def __init__(self, job: Job, partitions: Mapping[str, tuple[int, ...] | None]) -> None:
        self._job = job
        self._partitions = partitions
        self._roots = roots_of(job)
        self._held_back = held_back(job)

    def start(self, source: str, now: int) -> Clock:
        return Clock.start(self._partitions.get(source) or (), now)

    def of(self, stage: Aggregate, clocks: Mapping[str, Clock]) -> int | None:
        """The least over the stage's sources, each with the delay the stage or the source states."""
        if has_own_clock(stage):
            own = clocks.get(own_clock(stage))
            return None if own is None else own.watermark(self.root_of(stage).clock.delay if stage.delay is None else stage.delay)
        return self.least(stage.name, clocks, stage.delay)

    def least(self, name: str, clocks: Mapping[str, Clock], delay: int | None = None) -> int | None:
        """The least over the sources of a stage, held back for what joins before it may still let out."""
        marks = []
        for root in self._roots[name]:
            read = self._job.stage(root)
            assert isinstance(read, Read)
            clock = clocks.get(root)
            marks.append(None if clock is None else clock.watermark(read.clock.delay if delay is None else delay))
        if not marks or None in marks:
            return None
        least = min(mark for mark in marks if mark is not None)
        return least if least >= FOREVER else least - self._held_back[name]

    def root_of(self, stage: Aggregate) -> Read:
        read = self._job.stage(self._roots[stage.name][0])
        assert isinstance(read, Read)
        return read

    def advance(self, name: str, reached: Mapping[int, int], run: Run, clock_name: str | None = None) -> None:
        read = self._job.stage(name)
        assert isinstance(read, Read)
        key = clock_name or name
        clock = run.clocks.get(key) or self.start(name, run.batch.now)
        clock = clock.advance(reached, run.batch.now, read.clock.idle_timeout)
        if run.batch.force_watermark is not None:
            clock = clock.force(run.batch.force_watermark)
        stated = run.batch.stated_watermarks.get(name) if clock_name is None else None
        if stated is not None:
            clock = clock.force(stated)
        run.clocks[key] = clock.end() if run.batch.is_end else clock


def has_own_clock(stage: Aggregate) -> bool:
    """Where the statement says itself what event time is, or which rows move it, the source's clock is not its clock."""
    return stage.punctuation is not None or stage.time is not None


def own_clock(stage: Aggregate) -> str:
    return f"{stage.name}#own"
