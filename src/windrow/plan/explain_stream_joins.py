"""What EXPLAIN says about joins of two streams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, assert_never

from windrow.catalog.binding import all_of
from windrow.model.expr import Binary, Expr
from windrow.model.window import DropLate
from windrow.model.window_kinds import MovingKind
from windrow.plan.explain_joins import as_written, side_json
from windrow.plan.stages import IntervalJoin, JoinWindow, StreamJoin
from windrow.plan.stream_joins import AsofJoin, WindowJoin
from windrow.sql.durations import show_duration


def stream_join_facts(stage: StreamJoin) -> Iterator[tuple[str, str]]:
    yield "pairs", f"{stage.left.input} with {stage.right.input}"
    for side in (stage.left, stage.right):
        if side.where is not None:
            yield "filters", f"{side.input} before the join: {as_written(side.where)}"
    yield from (("rewritten", text) for text in stage.rewrites)
    yield "on", as_written(_equalities(stage))
    match stage:
        case IntervalJoin():
            yield from _interval(stage)
        case AsofJoin():
            yield from _asof(stage)
        case WindowJoin():
            yield from _window(stage)
        case _:
            assert_never(stage)
    yield "late rows", f"{'dropped and counted' if isinstance(stage.late, DropLate) else 'a dead letter'}, {_late_when(stage)}"
    yield "why", stage.reason


def _interval(stage: IntervalJoin) -> Iterator[tuple[str, str]]:
    left, right = (as_written(time) for time in stage.times)
    yield "time", f"{right} from {_moved(left, stage.low)} to {_moved(left, stage.high)}, both included"
    if stage.residual is not None:
        yield "and", as_written(stage.residual)
    kept = _sides(stage, unpaired=True)
    yield "unpaired", f"rows of {' and '.join(kept)} come out once, when no partner can come" if kept else "left out"
    yield "remembers", _memory(stage)


def _asof(stage: AsofJoin) -> Iterator[tuple[str, str]]:
    left, right = (as_written(time) for time in stage.times)
    yield "finds", f"the newest row of {stage.right.input} with {right} {'before' if stage.is_exclusive else 'at or before'} {left}"
    yield "nothing found", "NULLs" if stage.keeps_left else "the row is left out and counted"
    yield "remembers", f"the newest row of each key of {stage.right.input}, and rows of both that the watermark has not passed"


def _window(stage: WindowJoin) -> Iterator[tuple[str, str]]:
    yield "inside", _shown_window(stage)
    if stage.residual is not None:
        yield "and", as_written(stage.residual)
    kept = _sides(stage, unpaired=True)
    alone = f"rows of {' and '.join(kept)} come out once for each window in which they met nothing" if kept else "left out"
    yield "unpaired", alone
    lateness = f" and {show_duration(stage.lateness)} more" if stage.lateness else ""
    yield "remembers", f"a row until {'its session' if isinstance(stage.window, MovingKind) else 'its last window'} has ended{lateness}"


def _shown_window(stage: WindowJoin) -> str:
    if isinstance(stage.window, MovingKind):
        return f"sessions of each key, of the rows of both streams: those at most {show_duration(stage.window.gap)} apart are one"
    return stage.window.describe(show_duration)


def _sides(stage: IntervalJoin | WindowJoin, *, unpaired: bool) -> list[str]:
    """The inputs whose rows come out, or do not come out, when they meet nothing."""
    return [side.input for side, keeps in ((stage.left, stage.keeps_left), (stage.right, stage.keeps_right)) if keeps == unpaired]


def _memory(stage: IntervalJoin) -> str:
    if stage.inside is None:
        return f"a left row for {show_duration(max(stage.high, 0))}, a right row for {show_duration(max(-stage.low, 0))}"
    lateness = f" and {show_duration(stage.inside.lateness)} more" if stage.inside.lateness else ""
    return f"a row until its last window has ended{lateness}"


def _late_when(stage: StreamJoin) -> str:
    if isinstance(stage, AsofJoin):
        return "if it is behind the watermark"
    if isinstance(stage, WindowJoin) or (stage.inside is not None and stage.inside.judges_first):
        return "if every window of the row has closed for good"
    inputs = _sides(stage, unpaired=False)
    if not inputs:
        return "but no row is late: both sides come out unpaired"
    return f"if a row of {' or '.join(inputs)} is behind the watermark, meets nothing, and nothing can come any more"


def _equalities(stage: StreamJoin) -> Expr:
    meets = stage.nulls_meet or (False,) * len(stage.keys)
    condition = all_of(Binary("<=>" if meet else "=", left, right) for (left, right), meet in zip(stage.keys, meets, strict=True))
    assert condition is not None, "a join of two streams has an equality"
    return condition


def _moved(time: str, micros: int) -> str:
    return time if not micros else f"{time} {'+' if micros > 0 else '-'} {show_duration(abs(micros))}"


def stream_join_json(stage: StreamJoin) -> dict[str, Any]:
    common: dict[str, Any] = {
        "left": side_json(stage.left),
        "right": side_json(stage.right),
        "on": as_written(_equalities(stage)),
        "times": [as_written(time) for time in stage.times],
        "nulls_meet": list(stage.nulls_meet),
        "lag_us": stage.lag,
        "rewrites": list(stage.rewrites),
        "is_strict": stage.is_strict,
        "late": "drop" if isinstance(stage.late, DropLate) else "dead_letter",
    }
    match stage:
        case AsofJoin():
            return {"kind": "asof_join", **common, "is_exclusive": stage.is_exclusive, "keeps_left": stage.keeps_left}
        case IntervalJoin():
            inside = None if stage.inside is None else _window_json(stage.inside)
            own = {"kind": "interval_join", "low_us": stage.low, "high_us": stage.high, "inside": inside}
        case WindowJoin():
            own = {"kind": "window_join", "window": stage.window.facts(), "allowed_lateness_us": stage.lateness}
        case _:
            assert_never(stage)
    residual = None if stage.residual is None else as_written(stage.residual)
    return {**own, **common, "residual": residual, "keeps_left": stage.keeps_left, "keeps_right": stage.keeps_right}


def _window_json(inside: JoinWindow) -> dict[str, Any]:
    return {
        "size_us": inside.size,
        "advance_us": inside.advance,
        "offset_us": inside.offset,
        "allowed_lateness_us": inside.lateness,
        "judges_first": inside.judges_first,
    }


def stream_join_label(stage: StreamJoin) -> list[str]:
    """The lines of a stage's box."""
    on = f"on {as_written(_equalities(stage))}"
    match stage:
        case IntervalJoin(name=name):
            return [name, on, f"{_moved('', stage.low).strip() or '0s'} to {_moved('', stage.high).strip() or '0s'}"]
        case AsofJoin(name=name):
            return [name, on, f"newest {'before' if stage.is_exclusive else 'at or before'}"]
        case WindowJoin(name=name):
            return [name, on, _shown_window(stage)]
        case _:
            assert_never(stage)
