"""How far event time has come, for every stage of a job."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.plan.physical.scans import has_own_clock
from windrow.plan.stages import Aggregate, IntervalJoin, Job, LateRows, Read, Stage, StreamJoin
from windrow.plan.stream_joins import AsofJoin, WindowJoin
from windrow.spark.execution.batch import BatchContext
from windrow.spark.execution.time_sources import roots_of, timed_by
from windrow.spark.state.counters import JobCounters
from windrow.windowing.clock import Clock
from windrow.windowing.columns import FOREVER
from windrow.windowing.step import BatchTime


class Watermarks:
    """``partitions`` are those of each source, where they are known."""

    def __init__(self, job: Job, partitions: Mapping[str, tuple[int, ...] | None]) -> None:
        self._job = job
        self._partitions = partitions
        self._roots = roots_of(job)

    def start(self, source: str, now: int) -> Clock:
        return Clock.start(self._partitions.get(source) or (), now)

    def of(self, stage: Aggregate, clocks: Mapping[str, Clock], counters: JobCounters) -> int | None:
        """The least over what the stage reads, each with the delay the stage or the source states. ``counters`` have the arrival clocks."""
        if stage.time.on_arrival:
            is_ended = all(root in clocks and clocks[root].is_ended for root in self._roots[stage.name])
            return FOREVER if is_ended else counters.of(stage.name).arrival
        if has_own_clock(stage):
            own = clocks.get(own_clock(stage))
            return None if own is None else own.watermark(self.root_of(stage).clock.delay if stage.time.delay is None else stage.time.delay)
        return self.least(stage.name, clocks, counters, stage.time.delay)

    def least(self, name: str, clocks: Mapping[str, Clock], counters: JobCounters, delay: int | None = None) -> int | None:
        """The least over the inputs of a stage."""
        inputs = [given for given in timed_by(self._job.stage(name)) if self._roots.get(given)]
        known = [self._after(self._job.stage(given), clocks, counters, delay) for given in inputs]
        return None if not known or None in known else min(mark for mark in known if mark is not None)

    def _after(self, stage: Stage, clocks: Mapping[str, Clock], counters: JobCounters, delay: int | None) -> int | None:
        """Up to which time a stage has given all its rows, save those that come late.

        What a window puts out has a time within the window, and it comes when the window's own watermark has passed that: nothing that
        reads it may be ahead of that watermark. An outer join lets rows out that are behind the watermark of its inputs.
        """
        match stage:
            case Read():
                clock = clocks.get(stage.name)
                return None if clock is None else clock.watermark(stage.clock.delay if delay is None else delay)
            case Aggregate() if stage.window is not None:
                own = self.of(stage, clocks, counters)
                if own is None or delay is None or stage.time.on_arrival or has_own_clock(stage):
                    return own
                wanted = self.least(stage.name, clocks, counters, delay)
                return None if wanted is None else min(own, wanted)
            case LateRows(of=of):
                # These are rows as their source gave them.
                return self.least(of, clocks, counters, delay)
            case IntervalJoin() | AsofJoin() | WindowJoin():
                least = self.least(stage.name, clocks, counters, delay)
                return least if least is None or least >= FOREVER else least - stage.held_back
            case _:
                return self.least(stage.name, clocks, counters, delay)

    def of_join(self, stage: StreamJoin, run: BatchContext) -> BatchTime:
        before = self.least(stage.name, run.before, run.state.counters)
        after = self.least(stage.name, run.clocks, run.counters)
        return BatchTime(_behind(before, stage.lag), _behind(after, stage.lag), run.batch.now)

    def root_of(self, stage: Aggregate) -> Read:
        read = self._job.stage(self._roots[stage.name][0])
        assert isinstance(read, Read)
        return read

    def advance(self, name: str, greatest: Mapping[int, int], run: BatchContext, clock_name: str | None = None) -> None:
        read = self._job.stage(name)
        assert isinstance(read, Read)
        key = clock_name or name
        clock = run.clocks.get(key) or self.start(name, run.batch.now)
        clock = clock.advance(greatest, run.batch.now, read.clock.idle_timeout)
        if run.batch.force_watermark is not None:
            clock = clock.force(run.batch.force_watermark)
        stated = run.batch.stated_watermarks.get(name) if clock_name is None else None
        if stated is not None:
            clock = clock.force(stated)
        run.clocks[key] = clock.end() if run.batch.is_end else clock


def _behind(watermark: int | None, lag: int) -> int | None:
    return watermark if watermark is None or watermark >= FOREVER else watermark - lag


def own_clock(stage: Aggregate) -> str:
    return f"{stage.name}#own"
