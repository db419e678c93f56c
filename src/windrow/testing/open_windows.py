"""What a case left open: the usual reason why a row that was expected did not come."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

from windrow.plan.stages import Aggregate
from windrow.spark.execution.executor import BatchExecutor
from windrow.windowing.columns import END, FOREVER, NEVER, START

_SHOWN = 3
_HINT = 'a row with a later time, {"_advance_watermark_to": ms} or {"_end": true} in the input closes them'


def open_windows_of(executor: BatchExecutor) -> dict[str, str]:
    """A sentence for each statement that has windows which wait for the watermark. State on the executors is not looked at."""
    said: dict[str, str] = {}
    for stage in executor.job.stages:
        if not isinstance(stage, Aggregate) or stage.name in executor.state_backends.distributed or stage.name not in executor.steps:
            continue
        held = executor.steps[stage.name].open_windows(executor.state.tables.get(stage.name, {}))
        mark = executor.watermarks.of(stage, executor.state.clocks, executor.state.counters)
        sentence = None if held is None else describe_open(held, mark)
        if sentence is not None:
            said[stage.name] = sentence
    return said


def describe_open(held: pl.DataFrame, watermark: int | None) -> str | None:
    """None where nothing waits: windows that only late rows could still change have emitted."""
    if not {START, END} <= set(held.columns):
        return None
    bounds = (
        held.select(START, END).filter(pl.col(END).is_not_null() & (pl.col(END) < FOREVER) & (pl.col(START) > NEVER)).unique().sort(END)
    )
    waiting = bounds if watermark is None else bounds.filter(pl.col(END) > watermark)
    if waiting.is_empty():
        return None
    shown = [f"[{_show(start)}, {_show(end)})" for start, end in waiting.head(_SHOWN).iter_rows()]
    more = "" if waiting.height <= _SHOWN else f" and {waiting.height - _SHOWN} more"
    at = "the watermark is unset" if watermark is None else f"the watermark is {_show(watermark)}"
    count = "1 window is" if waiting.height == 1 else f"{waiting.height} windows are"
    return f"{count} still open: {', '.join(shown)}{more}; {at}\n  hint: {_HINT}"


def _show(micros: int) -> str:
    """As cases write times, and as people do."""
    try:
        at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
    except OverflowError:
        return str(micros // 1000)
    return f"{micros // 1000} ({at.isoformat(' ', timespec='seconds').removesuffix('+00:00')})"
