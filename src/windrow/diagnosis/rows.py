"""Why a row is where it is: the sentences about one that was set aside, and about one that was not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from windrow.diagnosis.tuning import rounded_up
from windrow.diagnosis.windows import sources_of
from windrow.model.fate import Fate
from windrow.observe.batch_record import BatchRecord, OperatorRecord
from windrow.observe.spelling import show_seconds, show_time
from windrow.plan.stages import (
    Aggregate,
    Expect,
    FilterProject,
    InsertUnion,
    IntervalJoin,
    Job,
    LateRows,
    LoadTable,
    LookupJoin,
    Read,
    Stage,
    SubqueryLookup,
    UnionAll,
    Write,
)
from windrow.plan.stream_joins import AsofJoin, WindowJoin
from windrow.sql.durations import show_duration


def why_set_aside(letter: Mapping[str, Any], job: Job) -> list[str]:
    """``letter`` is a dead letter, as ``windrow.jobs.letters`` reads it."""
    lines = [f"set aside in batch {letter['batch_id']} with {letter['code']}: {letter['message']}"]
    for label, name in (("arrived", "arrived_at"), ("event time", "event_time")):
        if isinstance(letter[name], datetime):
            lines.append(f"{label} {show_time(letter[name])}")
    lines += [*_lateness(letter, job), *_future(letter, job)]
    lines += _replay(letter)
    return lines


def _lateness(letter: Mapping[str, Any], job: Job) -> Iterator[str]:
    late_by = letter.get("late_by")
    if late_by is None:
        return
    mark, end = letter.get("watermark"), letter.get("window_end")
    judged = "" if mark is None else f" it was judged by the watermark {show_time(mark)}"
    window = "" if end is None else f", and its last window ended at {show_time(end)}"
    yield f"too late by {show_seconds(late_by / 1e6)}:{judged}{window}"
    name = letter["statement"] or letter["source"]
    stage = next((stage for stage in job.stages if stage.name == name), None)
    for read in sources_of(job, name) if stage is not None else ():
        wanted = show_duration(rounded_up(read.clock.delay + late_by + 1))
        yield f"'watermark.delay' = '{wanted}' of {read.name} would have taken it (it is {show_duration(read.clock.delay)})"
    if isinstance(stage, Aggregate) and stage.window is not None:
        wanted = show_duration(rounded_up(stage.lateness + late_by + 1))
        yield f"ALLOWED_LATENESS {wanted} would have taken it as a correction (it is {show_duration(stage.lateness)})"


def _future(letter: Mapping[str, Any], job: Job) -> Iterator[str]:
    """How far ahead an event time is, and the two things that it may come from."""
    at, arrived = letter["event_time"], letter["arrived_at"]
    if letter["code"] != Fate.FUTURE.code:
        return
    if isinstance(at, datetime) and isinstance(arrived, datetime):
        ahead = f"{show_seconds((at - arrived).total_seconds())} ahead of its arrival"
    else:
        ahead = "beyond the year 9999"
    yield f"its event time is {ahead}; it did not move the watermark"
    read = next((read for read in job.reads if read.name == letter["source"]), None)
    if read is None:
        return
    most = show_duration(read.time.max_future)
    yield f"'event.time.max_future' of {read.name} is {most}: what is beyond it is likely wrong, or in another unit"
    form = f"'{read.time.format}'" if read.time.format else "found out by the size of the number"
    yield f"'event.time.format' is {form}; epoch_seconds, epoch_millis, epoch_micros and epoch_nanos are each 1000 times the other"


def _replay(letter: Mapping[str, Any]) -> Iterator[str]:
    replay = letter.get("replay")
    if replay == "waiting":
        yield "it waits to be taken once more, by the next batch"
    elif replay is not None:
        yield f"it was taken once more, by batch {replay}"
    elif letter.get("late_by") is not None:
        yield "a replay would set it aside again: the watermark never goes back"
    elif letter["code"] in ("WR701", "WR702", "WR703"):
        yield "a replay would set it aside again unless the statements can read it now"
    else:
        yield f"windrow dead-letters replay FILE --id {letter['id']} feeds it to the job once more"


# Whose rows are those that came, one for one: what they let through comes to the next statement.
_ROW_BY_ROW = (FilterProject, SubqueryLookup, UnionAll, InsertUnion, Expect)
_JOINS = (LookupJoin, IntervalJoin, AsofJoin, WindowJoin)


def why_taken(job: Job, read: Read, record: BatchRecord | None, batch: int) -> list[str]:
    """Of a row that a batch read and that no dead letter has. Rows are counted and not kept, so some fates can only be narrowed down."""
    lines = [f"read by batch {batch}; it is no dead letter"]
    if record is None:
        return [*lines, "the record of that batch is gone: only the newest are kept"]
    own = record.operator(read.name)
    passed, dropped = own.passed or 0, sum(own.dropped.values())
    told = f"of the {own.rows_in or 0:,} rows of {read.name} in that batch, {passed:,} were passed on"
    if not dropped:
        return [*lines, told, *_fates(job, read, record)]
    lines.append(f"{told}, {_dropped(own)}")
    if not passed:
        return [*lines, "so it was dropped"]
    return [*lines, "whether it was dropped cannot be told without the row itself; if it was not:", *_fates(job, read, record)]


def _fates(job: Job, read: Read, record: BatchRecord) -> Iterator[str]:
    """What became of the row at each statement that it came to for certain."""
    came = {read.name}
    for stage in job.stages:
        if not came.intersection(stage.inputs) or isinstance(stage, LateRows | LoadTable):
            continue
        own = record.operator(stage.name)
        if isinstance(stage, Write):
            yield f"written to {stage.connector}, as a row of {stage.input}"
        elif own.rows_in is None or own.passed is None:
            if not isinstance(stage, _ROW_BY_ROW):
                yield f"{stage.name}: not counted in that batch"
        else:
            yield _fate(stage, own)
        if isinstance(stage, _ROW_BY_ROW) and _lets_all_through(stage, own):
            came.add(stage.name)


def _lets_all_through(stage: Stage, own: OperatorRecord) -> bool:
    """Whether every row went on that was not set aside, as far as that was counted."""
    if isinstance(stage, FilterProject) and stage.output.limit is not None:
        return False
    is_counted = own.rows_in is not None and own.passed is not None
    return not own.filtered and not own.dropped and (is_counted or not isinstance(stage, FilterProject | Expect))


def _fate(stage: Stage, own: OperatorRecord) -> str:
    """The row is none of those that the statement set aside, for these are letters: its fate is one of the others."""
    passed, dropped, dead = own.passed or 0, sum(own.dropped.values()), sum(own.dead.values())
    rows = own.rows_in or 0
    word = _taken_as(stage)
    late = f", {own.late_corrected:,} of them late, as corrections" if own.late_corrected else ""
    late += f", {own.late_included:,} of them late, into the next window" if own.late_included else ""
    if not own.filtered and not dropped:
        return (
            f"{stage.name}: {word}, like each of its {rows:,} rows"
            + (f" but {dead:,} dead {'letter' if dead == 1 else 'letters'}" if dead else "")
            + late
        )
    where = _where(stage)
    if not passed and not dropped:
        return f"{stage.name}: filtered out, like all of its {rows:,} rows{where}"
    if not passed and not own.filtered:
        return f"{stage.name}: dropped, like all of its {rows:,} rows: {_dropped(own)}"
    known = [f"{passed:,} {word}{late}"]
    if own.filtered:
        known.append(f"{own.filtered:,} filtered out{where}")
    if dropped:
        known.append(_dropped(own))
    return f"{stage.name}: cannot be told without the row itself; of its {rows:,} rows " + ", ".join(known)


def _taken_as(stage: Stage) -> str:
    if isinstance(stage, Aggregate):
        return "aggregated"
    return "passed on" if isinstance(stage, _ROW_BY_ROW) else "joined" if isinstance(stage, _JOINS) else "taken"


def _dropped(own: OperatorRecord) -> str:
    meanings = {fate.code: fate.meaning for fate in Fate}
    return ", ".join(f"{count:,} dropped with {code} ({meanings.get(code, code)})" for code, count in sorted(own.dropped.items()))


def _where(stage: Stage) -> str:
    where = getattr(stage, "where", None)
    if where is None:
        return ""
    from windrow.sql import render_expr

    return f" by WHERE {render_expr(where)}"
