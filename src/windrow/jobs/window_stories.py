"""Why windows of a statement are open or when they closed, in sentences, from the folder of their job. Starts no Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from windrow.diagnosis.analysis import analyze
from windrow.diagnosis.findings import STANDS_STILL, findings
from windrow.diagnosis.windows import sources_of, why_open
from windrow.jobs.history import JobHistory
from windrow.jobs.observed import ObservedJob
from windrow.jobs.window_history import Emission, HeldWindow, WindowFilter, WindowHistory, window_history
from windrow.observe.spelling import show_micros
from windrow.plan.stages import Aggregate
from windrow.windowing.columns import FOREVER

# So many of the newest batches say what became of rows.
_NEWEST = 100
# Of all that advice is about: why rows come to no window.
_NO_ROWS = ("filter_lets_nothing_through", "rows_set_aside", "future_rows")


@dataclass(frozen=True)
class WindowStory:
    """One window: ``why`` it is open or kept, and what it ``said`` in the kept batches. One that is not held is corrected no more."""

    window: HeldWindow
    title: str
    is_held: bool
    why: tuple[str, ...]
    said: tuple[str, ...]

    @property
    def lines(self) -> list[str]:
        gone = [] if self.is_held else ["it is held no more: nothing corrects it"]
        return [self.title, *(f"  {line}" for line in (*self.why, *self.said, *gone))]


@dataclass(frozen=True)
class Stories:
    """Those that wait longest come first; those that are gone come last, the newest of them first. ``total`` counts all there are.

    ``notes`` say why the job stands still, if it does. Where there is no such window, ``nothing`` says so, and ``reasons`` what became of
    the rows, and which windows there are.
    """

    told: tuple[WindowStory, ...]
    total: int
    nothing: str = ""
    notes: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()


def window_stories(observed: ObservedJob, stage: Aggregate, wanted: WindowFilter, limit: int | None, file: str = "FILE") -> Stories:
    """``file`` is what commands to paste name."""
    history = window_history(JobHistory(observed.job, observed.state), stage, wanted)
    records = observed.last_run(_NEWEST)
    last = records[-1]
    found = findings(analyze(observed.job, records), notes=observed.notes(), file=file)
    notes = tuple(one.text for one in found if one.kind in STANDS_STILL)
    said: dict[tuple[Any, ...], list[Emission]] = {}
    for emission in history.emissions:
        said.setdefault((emission.window.key, emission.window.start), []).append(emission)
    held = {(window.key, window.start): window for window in history.held}
    gone = {place: own[-1].window for place, own in said.items() if place not in held}
    order = [*sorted(held.values(), key=_end), *sorted(gone.values(), key=_end, reverse=True)]
    told = []
    for window in order[:limit]:
        place = (window.key, window.start)
        why = tuple(why_open(observed.job, stage, end_of(window), last)) if place in held else ()
        told.append(WindowStory(window, _title(stage, window), place in held, why, tuple(_emitted(one) for one in said.get(place, ()))))
    if order:
        return Stories(tuple(told), len(order), notes=notes)
    about = {stage.name, *stage.inputs, *(read.name for read in sources_of(observed.job, stage.name))}
    reasons = [one.text for one in found if one.kind in _NO_ROWS and one.about in about]
    others = window_history(JobHistory(observed.job, observed.state), stage, WindowFilter()).held
    if others:
        reasons.append(f"held are {len(others):,} others, such as {_title(stage, min(others, key=_end))}")
    return Stories((), 0, _nothing(stage, history), notes, tuple(reasons))


def _end(window: HeldWindow) -> int:
    return window.end or 0


def end_of(window: HeldWindow) -> int | None:
    """None where it has none: a group without a window."""
    return None if window.end is None or window.end >= FOREVER else window.end


def _title(stage: Aggregate, window: HeldWindow) -> str:
    key = ", ".join(f"{name} = {value}" for name, value in window.key)
    end = end_of(window)
    bounds = "" if end is None or window.start is None else f", {show_micros(window.start)} to {show_micros(end)}"
    return f"{stage.name}{f' of {key}' if key else ''}{bounds}: {window.rows:,} {'row' if window.rows == 1 else 'rows'}"


def _emitted(emission: Emission) -> str:
    if emission.after is not None and emission.after >= FOREVER:
        why = "the input was declared ended"
    elif emission.after is None:
        why = "the watermark was unset"
    else:
        before = "unset" if emission.before is None else show_micros(emission.before)
        why = f"the watermark went from {before} to {show_micros(emission.after)}"
    return f"batch {emission.batch_id}: {emission.kind}, revision {emission.revision}, of {emission.window.rows:,} rows; {why}"


def _nothing(stage: Aggregate, history: WindowHistory) -> str:
    which = f"batch {history.first}, which is" if history.first == history.last else f"batches {history.first} to {history.last}, which are"
    kept = "no batch is kept" if history.first is None else f"none emitted in {which} kept"
    return f"no such window of {stage.name} is held, and {kept}: no row came for it, it was filtered, or it is longer ago"
