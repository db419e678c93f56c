"""Where the time of the last batches went, and why results are as old as they are."""

from __future__ import annotations

from collections.abc import Iterator

from windrow.diagnosis.analysis import Analysis
from windrow.diagnosis.explained import headline
from windrow.model.window_kinds import CountedKind, FixedKind, MovingKind
from windrow.observe.spelling import show_seconds
from windrow.plan.stages import Aggregate
from windrow.sql.durations import show_duration

_BAR = 24


def lag_text(analysis: Analysis) -> str:
    lines = [headline(analysis), "", "where the time of a batch goes"]
    for name, seconds in sorted(analysis.phases.items(), key=lambda one: -one[1]):
        share = seconds / analysis.seconds if analysis.seconds else 0.0
        lines.append(f"  {name:<13} {seconds / len(analysis.records):>8.3f} s  {share:>4.0%}  {'█' * round(share * _BAR)}".rstrip())
    waits = _waits(analysis)
    if waits is not None:
        lines.append(f"  between two batches {waits:.3f} s: {_reading(analysis, waits)}")
    for name in analysis.sources:
        lines += ["", f"why event time is behind for {name}", *(f"  {line}" for line in _behind(name, analysis))]
    windows = [stage for stage in analysis.job.stages if isinstance(stage, Aggregate) and stage.window is not None]
    for stage in windows:
        lines += ["", f"{stage.name}: {_when_it_emits(stage)}"]
    return "\n".join(lines)


def _waits(analysis: Analysis) -> float | None:
    """Seconds a batch in which none was under way."""
    if len(analysis.records) < 2:
        return None
    return max(0.0, analysis.span - analysis.seconds) / (len(analysis.records) - 1)


def _reading(analysis: Analysis, waits: float) -> str:
    batch = analysis.seconds / len(analysis.records)
    if waits > batch:
        return "the job waits for rows, or for its trigger: processing is not what makes it late"
    return "Spark plans the next batch, and finds out what there is to read"


def _behind(name: str, analysis: Analysis) -> Iterator[str]:
    """The distance from a batch's arrival to the watermark, as a sum."""
    clock, arrival = analysis.sources[name].clock, analysis.last.arrival
    reached = [one.greatest for one in clock.partitions.values() if one.greatest is not None]
    if clock.is_ended:
        yield "the input was declared ended: nothing waits for it"
        return
    if clock.after is None or not reached:
        silent = [number for number, one in clock.partitions.items() if one.greatest is None]
        yield "the watermark is unset" + (f": partition {silent[0]} has sent nothing yet" if silent else "")
        return
    old, spread = arrival - max(reached), max(reached) - clock.delay - clock.after
    parts = [
        (old, "the newest row was that old when its batch arrived: the rows themselves are old, or they wait before the job reads them"),
        (spread, "the slowest partition is behind the furthest"),
        (clock.delay, "watermark.delay"),
    ]
    yield f"{show_seconds(max(0, arrival - clock.after) / 1e6)} in all, from the arrival of the last batch back to the watermark"
    for micros, what in parts:
        if micros > 0:
            yield f"{show_seconds(micros / 1e6):>10}  {what}"


def _when_it_emits(stage: Aggregate) -> str:
    policy = stage.emit_policy
    if not policy.on_close or policy.every_row or policy.per_batch or policy.once or policy.is_early:
        return "results come before windows close, so no row waits for the end of its window"
    earlier = "; TRIGGER EVERY or EMIT CHANGES emits earlier"
    match stage.window:
        case FixedKind(pane_step=step, size=size) if step < size:
            return f"a row's first result comes when the first of its windows is over, up to {show_duration(step)} later{earlier}"
        case FixedKind(size=size):
            return f"a result comes when its window of {show_duration(size)} is over, so a row waits up to that long{earlier}"
        case MovingKind(gap=gap):
            return f"a result comes when its group has been silent for {show_duration(gap)} of event time{earlier}"
        case CountedKind(count=count):
            return f"a result comes with every {count:,} rows of its group"
        case _:
            return "a result comes when its window is over"
