"""Why a row is where it is: the sentences about one that was set aside, and about one that was not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from windrow.diagnosis.tuning import rounded_up
from windrow.diagnosis.windows import sources_of
from windrow.model.fate import Fate
from windrow.observe.batch_record import BatchRecord
from windrow.observe.spelling import show_seconds, show_time
from windrow.plan.stages import Aggregate, Job, Read
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
    if letter["code"] != Fate.FUTURE.code or not isinstance(at, datetime) or not isinstance(arrived, datetime):
        return
    ahead = (at - arrived).total_seconds()
    yield f"its event time is {show_seconds(ahead)} ahead of its arrival; it did not move the watermark"
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


def why_taken(job: Job, read: Read, record: BatchRecord | None, batch: int) -> list[str]:
    """Of a row that a batch read and that no dead letter has."""
    lines = [f"read by batch {batch}; it is no dead letter"]
    if record is None:
        return [*lines, "the record of that batch is gone: only the newest are kept"]
    own = record.operator(read.name)
    dropped = sum(own.dropped.values())
    lines.append(
        f"of the {own.rows_in or 0:,} rows of {read.name} in that batch, {own.passed or 0:,} were passed on"
        + (f", {dropped:,} dropped" if dropped else "")
    )
    for stage in job.stages:
        if read.name not in stage.inputs:
            continue
        one = record.operator(stage.name)
        if one.rows_in is None:
            continue
        if not one.filtered and not one.dropped:
            lines.append(f"{stage.name} filtered and dropped none of its {one.rows_in:,}: it took the row")
        else:
            fates = [
                f"{one.passed or 0:,} taken",
                f"{one.filtered:,} filtered out",
                *(f"{count:,} dropped with {code}" for code, count in one.dropped.items()),
            ]
            lines.append(f"{stage.name}: {', '.join(fates)} of {one.rows_in:,}; which of these the row was needs the row itself")
    return lines
