"""What a job could do better or suffers from, each finding with its figures and the line that would change it.

One function a finding, listed in ``FINDINGS``; each looks at the analysed batches only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from windrow.diagnosis.analysis import Analysis, SourceTotals
from windrow.diagnosis.tuning import rounded_up, tuning_curve
from windrow.model.fate import Fate
from windrow.model.window import SECOND
from windrow.observe.batch_record import BatchRecord, JobNote, OperatorRecord, PartitionRecord, SourceRecord, StatementRecord
from windrow.observe.spelling import show_micros, show_seconds
from windrow.observe.status import FAILED, RUNNING
from windrow.plan.stages import Aggregate, FilterProject, LookupJoin, StreamJoin
from windrow.sql.durations import show_duration

# Shares of a limit from which on it is near.
NEAR = ((0.95, "emergency"), (0.85, "critical"), (0.70, "warning"))
_WORTH_SAYING = 10 * SECOND
_SKEWED = 2.0
_HEAVY_GROUP = 0.5
_MOSTLY = 0.5
# Kinds of findings about a job that takes no rows.
STANDS_STILL = ("job_failed", "job_waits")
# A row in the year 2000 or before, in a batch of today, is a unit that was misread.
_PLAUSIBLE = 946_684_800 * SECOND


@dataclass(frozen=True)
class GroupWeight:
    """The largest group among those that a statement holds: ``key`` as text, with its rows and those of all groups."""

    key: str
    rows: int
    total: int
    groups: int


@dataclass(frozen=True)
class Finding:
    """``about`` is a source, statement or table. ``line`` is what to write into the file or on the command line, if anything helps so."""

    kind: str
    about: str
    text: str
    line: str | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def findings(
    analysis: Analysis, heaviest: Mapping[str, GroupWeight] | None = None, notes: Sequence[JobNote] = (), file: str = "FILE"
) -> list[Finding]:
    """All of them, those that stop a job or its results first. ``file`` is what commands to paste name."""
    found = [*_standing_still(analysis, notes), *(one for find in FINDINGS for one in find(analysis))]
    found += [one for name, weight in (heaviest or {}).items() for one in _heavy_group(name, weight)]
    return [one if one.line is None else replace(one, line=one.line.replace(" FILE", f" {file}")) for one in found]


def _standing_still(analysis: Analysis, notes: Sequence[JobNote]) -> Iterator[Finding]:
    """Why a job takes no rows, or took none until it was stopped: what it came to after it last ran."""
    since: list[JobNote] = []
    for note in notes:
        since = [] if note.state == RUNNING else [*since, note]
    trouble = [note for note in since if note.error]
    if not trouble:
        return
    last, first = trouble[-1], next(note for note in trouble if note.state == trouble[-1].state)
    lines = (last.error or "").splitlines()
    hint = next((line.strip().removeprefix("hint: ") for line in lines if line.strip().startswith("hint: ")), None)
    job = analysis.job.name
    if last.state == FAILED:
        yield Finding("job_failed", job, f"the job failed at {show_micros(last.at)}: {lines[0]}", hint, {"at": last.at})
        return
    is_over = since[-1] is not last
    until = f" until it was {since[-1].state} at {show_micros(since[-1].at)}" if is_over else ""
    verb = "took" if is_over else "takes"
    why = lines[0].removeprefix("waits: ")
    text = f"the job {verb} no rows since {show_micros(first.at)}{until}: {why}"
    yield Finding("job_waits", job, text, hint or "windrow events FILE   -- when it began, and what it has tried", {"since": first.at})


def _all_filtered(analysis: Analysis) -> Iterator[Finding]:
    for stage in analysis.job.stages:
        own = analysis.operators[stage.name]
        where = getattr(stage, "where", None)
        if own.rows_in and own.filtered == own.rows_in:
            from windrow.sql import render_expr

            told = "" if where is None else f": WHERE {render_expr(where)}"
            yield Finding(
                "filter_lets_nothing_through",
                stage.name,
                f"the filter of {stage.name} let none of {own.rows_in:,} rows through{told}",
                f"SELECT * FROM {stage.inputs[0]} LIMIT 10;   -- in windrow sql: see what the condition is given",
                {"rows_in": own.rows_in, "filtered": own.filtered},
            )


def _dead_rows(analysis: Analysis) -> Iterator[Finding]:
    for name in analysis.sources:
        own = analysis.operators[name]
        for code, count in own.dead.items() | own.dropped.items():
            if not own.rows_in or count < _MOSTLY * own.rows_in or code == Fate.LATE_AT_SOURCE.code:
                continue
            if code == Fate.FUTURE.code:
                yield Finding(
                    "future_rows",
                    name,
                    f"{count:,} of {own.rows_in:,} rows of {name} are set aside because their event time is far in the future: "
                    "the unit of the event time is likely another one than the file says",
                    "'event.time.format' = 'epoch_millis'   -- or epoch_seconds, epoch_micros: what the column really holds",
                    {"rows": count, "of": own.rows_in, "code": code},
                )
            else:
                meaning = next((fate.meaning for fate in Fate if fate.code == code), code)
                text = f"{count:,} of {own.rows_in:,} rows of {name} are set aside: {meaning} [{code}]"
                yield Finding("rows_set_aside", name, text, f"windrow dead-letters list FILE --code {code}", {"rows": count, "code": code})


def _some_future(analysis: Analysis) -> Iterator[Finding]:
    code = Fate.FUTURE.code
    for name in analysis.sources:
        own = analysis.operators[name]
        count = own.dead.get(code, 0) + own.dropped.get(code, 0)
        if own.rows_in and 0 < count < _MOSTLY * own.rows_in:
            verb, they = ("has", "it") if count == 1 else ("have", "they")
            text = (
                f"{count:,} of {own.rows_in:,} rows of {name} {verb} an event time too far in the future; {they} did not move the watermark"
            )
            yield Finding(
                "future_rows", name, text, f"windrow dead-letters list FILE --code {code}", {"rows": count, "of": own.rows_in, "code": code}
            )


def _old_unit(analysis: Analysis) -> Iterator[Finding]:
    for name, source in analysis.sources.items():
        reached = max((one.greatest for one in source.clock.partitions.values() if one.greatest is not None), default=None)
        if reached is not None and reached < _PLAUSIBLE < analysis.last.arrival:
            yield Finding(
                "event_time_unit",
                name,
                f"the greatest event time of {name} is {show_micros(reached)}: the unit of the event time is likely misread",
                "'event.time.format' = 'epoch_seconds'   -- or epoch_millis, epoch_micros: what the column really holds",
                {"greatest": reached},
            )


def holds_back(analysis: Analysis, name: str) -> tuple[int, PartitionRecord, int] | None:
    """The partition of a source that holds its watermark back, and how far the furthest one of all sources is ahead of it."""
    source = analysis.sources[name].clock
    active = {number: one for number, one in source.partitions.items() if number not in source.idle}
    if not active or source.is_ended:
        return None
    reached = [one.greatest for each in analysis.sources.values() for one in each.clock.partitions.values() if one.greatest is not None]
    number = min(active, key=lambda one: (active[one].greatest is not None, active[one].greatest or 0))
    least = active[number].greatest
    ahead = 0 if least is None or not reached else max(reached) - least
    return number, active[number], ahead


def _slow_partition(analysis: Analysis) -> Iterator[Finding]:
    for name, source in analysis.sources.items():
        found = holds_back(analysis, name)
        if found is None or (len(source.clock.partitions) == 1 and len(analysis.sources) == 1):
            continue
        number, partition, ahead = found
        silent = max(0, analysis.last.arrival - partition.seen_at)
        place = f"partition {number} of {name}"
        line = f"'watermark.idle_timeout' = '{show_duration(_timeout(analysis, silent))}'"
        if partition.greatest is None and analysis.rows_in:
            text = f"{place} has sent nothing yet, and the watermark cannot be set without it"
            yield Finding("silent_partition", name, text, line, {"partition": number})
        elif ahead >= _WORTH_SAYING and silent >= _WORTH_SAYING:
            text = (
                f"{place} holds the watermark back by {show_seconds(ahead / 1e6)}: its last row came {show_seconds(silent / 1e6)} before "
                f"the last batch{_without_timeout(source.clock)}"
            )
            yield Finding("idle_partition", name, text, line, {"partition": number, "behind_us": ahead, "silent_us": silent})
        elif ahead >= 6 * _WORTH_SAYING:
            text = (
                f"{place} holds the watermark back by {show_seconds(ahead / 1e6)}: its rows are that much older than those of the furthest"
            )
            yield Finding("slow_partition", name, text, None, {"partition": number, "behind_us": ahead})


def _timeout(analysis: Analysis, silent: int) -> int:
    """Well above the time between two batches, well below the silence that was seen."""
    pause = int(analysis.span / max(1, len(analysis.records)) * 1e6)
    return rounded_up(max(30 * SECOND, min(5 * pause, silent // 2)))


def _without_timeout(clock: SourceRecord) -> str:
    return "; no idle timeout is set" if clock.idle_timeout is None else f"; idle timeout {show_duration(clock.idle_timeout)}"


def _late(analysis: Analysis) -> Iterator[Finding]:
    for name, own in analysis.statements.items():
        if not own.late_by:
            continue
        curve = tuning_curve(own.late_by)
        point = next((one for one in curve if one.share >= 0.9), curve[-1])
        source = source_of(analysis, name)
        delay = analysis.sources[source].clock.delay if source is not None else 0
        whole = tuning_curve(own.late_by, own.corrected_by)
        wanted, lateness = rounded_up(delay + point.extra), rounded_up(own.last.lateness + point.extra)
        cost = wanted - delay
        stage = next((stage for stage in analysis.job.stages if stage.name == name), None)
        either = (
            f"; ALLOWED_LATENESS {show_duration(lateness)} takes them as corrections instead, without delay"
            if isinstance(stage, Aggregate)
            else ""
        )
        yield Finding(
            "late_rows",
            name,
            f"{point.total:,} rows came too late for {name}; a delay of {show_duration(wanted)} instead of {show_duration(delay)} "
            f"would have taken {point.saved:,} of them, and every result would come {show_duration(cost)} later{either}",
            f"'watermark.delay' = '{show_duration(wanted)}'",
            {
                "late": point.total,
                "saved": point.saved,
                "delay_us": wanted,
                "lateness_us": lateness,
                "costs_us": cost,
                "corrected": sum(own.corrected_by.values()),
                "curve": [{"extra_us": one.extra, "saved": one.saved, "of": one.total, "in_time": one.in_time} for one in whole],
            },
        )


def source_of(analysis: Analysis, name: str) -> str | None:
    """The source whose rows a statement takes: its own name for a source, else the first that its inputs lead to."""
    if name in analysis.sources:
        return name
    stages = {stage.name: stage for stage in analysis.job.stages}
    inputs = stages[name].inputs if name in stages else ()
    return next((found for each in inputs if (found := source_of(analysis, each)) is not None), None)


def _skew(analysis: Analysis) -> Iterator[Finding]:
    for name, source in analysis.sources.items():
        if source.skew is not None and len(source.rows) > 1 and source.skew >= _SKEWED:
            yield _skewed(name, source)


def _skewed(name: str, source: SourceTotals) -> Finding:
    rows, busiest = sum(source.rows.values()), source.busiest
    assert busiest is not None
    share = source.rows[busiest] / rows
    return Finding(
        "skewed_partition",
        name,
        f"partition {busiest} of {name} brings {share:.0%} of its rows, {source.skew:.1f} times the mean of {len(source.rows)} partitions: "
        "one task reads them while the others wait",
        None,
        {"partition": busiest, "rows": source.rows[busiest], "of": rows},
    )


def _heavy_group(name: str, weight: GroupWeight) -> Iterator[Finding]:
    if weight.groups > 1 and weight.rows >= _HEAVY_GROUP * weight.total and weight.rows * weight.groups >= _SKEWED * weight.total:
        yield Finding(
            "skewed_key",
            name,
            f"{weight.rows:,} of {weight.total:,} rows that {name} holds are of one of its {weight.groups:,} groups: {weight.key}. "
            "Windrow adds rows up before they are exchanged, so this costs little unless it is an error of the data",
            None,
            {"key": weight.key, "rows": weight.rows, "of": weight.total, "groups": weight.groups},
        )


def _bottleneck(analysis: Analysis) -> Iterator[Finding]:
    slow = analysis.bottleneck
    if slow is None or not analysis.is_sink(slow.name) or slow.seconds / len(analysis.records) < 0.2:
        return
    yield Finding(
        "slow_sink",
        slow.name,
        f"writing {slow.name} takes {slow.share:.0%} of the time of a batch ({slow.seconds / len(analysis.records):.1f} s of "
        f"{analysis.seconds / len(analysis.records):.1f} s), and reading waits for it",
        "--trigger-interval 10s   -- fewer, larger writes; or give the target more room",
        {"share": round(slow.share, 3), "p95": slow.p95},
    )


def _near_limit(analysis: Analysis) -> Iterator[Finding]:
    last = analysis.last
    groups = max((_groups_held(last, one) for one in last.operators), default=0)
    for setting, limit, held, unit in (
        ("state.max_bytes", last.max_bytes, last.state_bytes, "bytes"),
        ("state.max_groups", last.max_groups, groups, "groups and windows"),
    ):
        level = next((name for share, name in NEAR if limit and held >= share * limit), None)
        if limit and level is not None:
            largest = max(last.operators, key=lambda one: one.bytes_held if unit == "bytes" else _groups_held(last, one))
            yield Finding(
                "state_near_limit",
                largest.name,
                f"the state holds {held:,} {unit}, {held / limit:.0%} of {setting} = {limit:,} ({level}); most of it is of {largest.name}",
                f"--set {setting}={2 * limit}   -- or a shorter ALLOWED_LATENESS, a 'state.ttl', --set state.on_limit=evict",
                {"held": held, "limit": limit, "level": level},
            )


def _groups_held(record: BatchRecord, operator: OperatorRecord) -> int:
    """Windows and groups, as the limit counts them; rows of state where there are no windows, or too many to count."""
    own = record.statements.get(operator.name, StatementRecord())
    return (own.open or 0) + (own.kept or 0) or operator.rows_held


def _stale_tables(analysis: Analysis) -> Iterator[Finding]:
    for name, table in analysis.last.tables.items():
        if table.stale is not None:
            rows = "its rows" if table.rows is None else f"the {table.rows:,} rows"
            text = f"table {name} was not refreshed, and {rows} of its last load stay in force: {table.stale}"
            yield Finding("stale_table", name, text, None, {"why": table.stale})


def _retries(analysis: Analysis) -> Iterator[Finding]:
    if analysis.retried:
        again = [record.batch_id for record in analysis.records if record.attempt > 1]
        text = f"{analysis.retried:,} of {len(analysis.records):,} batches were begun more than once, the last of them batch {again[-1]}"
        yield Finding("retried_batches", analysis.job.name, text, None, {"batches": again[-10:]})


def _filter_above_join(analysis: Analysis) -> Iterator[Finding]:
    stages = {stage.name: stage for stage in analysis.job.stages}
    for stage in analysis.job.stages:
        where = stage.where if isinstance(stage, FilterProject | Aggregate) else None
        below = stages.get(stage.inputs[0]) if stage.inputs else None
        own = analysis.operators[stage.name]
        if where is None or not isinstance(below, LookupJoin | StreamJoin) or not own.rows_in or own.filtered < _MOSTLY * own.rows_in:
            continue
        from windrow.sql import render_expr

        yield Finding(
            "filter_above_join",
            stage.name,
            f"{own.filtered:,} of {own.rows_in:,} rows are joined by {below.name} and then filtered out by {stage.name}: "
            f"WHERE {render_expr(where)}",
            f"CREATE STREAM ... AS SELECT * FROM {below.inputs[0]} WHERE ...   -- what needs one side only, before the join",
            {"rows_in": own.rows_in, "filtered": own.filtered},
        )


def _could_share(analysis: Analysis) -> Iterator[Finding]:
    by_input: dict[str, list[Aggregate]] = {}
    for stage in analysis.job.stages:
        is_alone = any(strategy in ("pass: own", "pass: source") for strategy in analysis.operators[stage.name].strategies)
        if isinstance(stage, Aggregate) and is_alone:
            by_input.setdefault(stage.input, []).append(stage)
    for name, readers in by_input.items():
        seconds = sum(analysis.operators[stage.name].seconds for stage in readers)
        if len(readers) > 1:
            names = ", ".join(stage.name for stage in readers)
            yield Finding(
                "could_share",
                name,
                f"{names} each read {name} in a pass of their own ({seconds:.1f} s together)",
                "-- the same WHERE and GROUP BY in both let them share one pass; windrow explain says which do",
                {"statements": [stage.name for stage in readers], "seconds": seconds},
            )


FINDINGS: tuple[Callable[[Analysis], Iterator[Finding]], ...] = (
    _dead_rows,
    _some_future,
    _old_unit,
    _all_filtered,
    _slow_partition,
    _stale_tables,
    _near_limit,
    _late,
    _bottleneck,
    _retries,
    _skew,
    _filter_above_join,
    _could_share,
)
