"""Why a window is open: what its watermark waits for, partition by partition, and what would close it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from windrow.model.lateness import over_at
from windrow.observe.batch_record import BatchRecord, PartitionRecord, SourceRecord
from windrow.observe.spelling import show_micros, show_seconds
from windrow.plan.stages import Aggregate, Job, Read
from windrow.sql.durations import show_duration


def sources_of(job: Job, name: str) -> list[Read]:
    """The sources whose clocks decide when a statement's windows close."""
    stage = job.stage(name)
    if isinstance(stage, Read):
        return [stage]
    return list(dict.fromkeys(read for each in stage.inputs for read in sources_of(job, each)))


def why_open(job: Job, stage: Aggregate, end: int | None, last: BatchRecord) -> list[str]:
    """Of a window that the watermark has not passed, in sentences and a table."""
    own = last.statements.get(stage.name)
    watermark = None if own is None else own.after
    if end is None or stage.window is None:
        return ["it has no end: a group without a window stays open, and says what changes"]
    if watermark is not None and watermark >= end:
        return _closed(stage, end, watermark)
    mark = "unset" if watermark is None else f"at {show_micros(watermark)}"
    lines = [f"open because the watermark of {stage.name} is {mark}; it closes when the watermark reaches {show_micros(end)}"]
    for read in sources_of(job, stage.name):
        source = last.sources.get(read.name)
        if source is not None:
            delay = source.delay if stage.time.delay is None else stage.time.delay
            lines += [*_holds(read.name, source, last), *_table(source, last, end + delay), *_remedies(read.name, source, end + delay)]
    return lines


def _closed(stage: Aggregate, end: int, watermark: int) -> list[str]:
    until = over_at(end, stage.lateness)
    if watermark < until:
        return [
            f"closed: the watermark is at {show_micros(watermark)}, beyond its end",
            f"it is kept for late rows, which correct it until the watermark reaches {show_micros(until)}",
        ]
    return [f"closed for good: the watermark is at {show_micros(watermark)}"]


def _holds(name: str, source: SourceRecord, last: BatchRecord) -> Iterator[str]:
    active = {number: one for number, one in source.partitions.items() if number not in source.idle}
    if source.is_ended or not source.partitions:
        return
    if not active:
        yield f"every partition of {name} is idle: event time goes on with the clock of the machine, less the idle timeout"
        return
    number = min(active, key=lambda one: (active[one].greatest is not None, active[one].greatest or 0))
    slowest = active[number]
    if slowest.greatest is None:
        yield f"held by partition {number} of {name}, which has sent nothing yet"
        return
    ago = show_seconds(max(0, last.arrival - slowest.seen_at) / 1e6)
    mark = show_micros(slowest.greatest - source.delay)
    delay = show_duration(source.delay)
    yield (
        f"held by partition {number} of {name}, which stands at {show_micros(slowest.greatest)}, less the delay of {delay} "
        f"= {mark}; its last row came {ago} before the last batch"
    )


def _table(source: SourceRecord, last: BatchRecord, wanted: int) -> Iterator[str]:
    if len(source.partitions) < 2:
        return
    yield f"  {'partition':>9}  {'greatest event time':<23}  {'last row':<14}  still needs"
    for number, one in sorted(source.partitions.items(), key=lambda each: each[1].greatest or -1):
        yield f"  {number:>9}  {_time(one):<23}  {_ago(one, last):<14}  {_needs(number, one, source, wanted):<12}".rstrip()
    if source.left_out:
        yield f"  and {source.left_out:,} more, all further on"


def _time(one: PartitionRecord) -> str:
    return "nothing yet" if one.greatest is None else show_micros(one.greatest)


def _ago(one: PartitionRecord, last: BatchRecord) -> str:
    return "never" if one.greatest is None else f"{show_seconds(max(0, last.arrival - one.seen_at) / 1e6)} ago"


def _needs(number: int, one: PartitionRecord, source: SourceRecord, wanted: int) -> str:
    if number in source.idle:
        return "idle: holds nothing back"
    if one.greatest is None:
        return "a row"
    return "nothing" if one.greatest >= wanted else show_seconds((wanted - one.greatest) / 1e6)


def _remedies(name: str, source: SourceRecord, wanted: int) -> Iterator[str]:
    """``wanted`` is the event time that every partition has to reach."""
    if source.is_ended:
        return
    waiting: Mapping[int, PartitionRecord] = {
        number: one
        for number, one in source.partitions.items()
        if number not in source.idle and (one.greatest is None or one.greatest < wanted)
    }
    if not waiting:
        return
    which = "partition " + ", ".join(map(str, waiting)) if len(waiting) <= 5 else f"each of {len(waiting):,} partitions"
    yield f"a row at or after {show_micros(wanted)} in {which} of {name} closes it"
    if source.idle_timeout is None and len(source.partitions) > 1:
        yield f"or let silent partitions of {name} hold nothing back: 'watermark.idle_timeout' = '30s'"
    elif source.idle_timeout is not None:
        yield f"or a partition that stays silent for {show_duration(source.idle_timeout)} (watermark.idle_timeout)"
