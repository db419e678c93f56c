"""EXPLAIN ANALYZE: the tree of EXPLAIN, with what the batches of a run did at each of its stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from windrow.diagnosis.analysis import Analysis, OperatorTotals, SourceTotals, StatementTotals
from windrow.diagnosis.findings import Finding, holds_back
from windrow.observe.spelling import show_micros, show_seconds
from windrow.plan.explain import job_tree
from windrow.plan.stages import LoadTable, Read, Stage, Write
from windrow.sql.durations import show_duration

_HINTS = "hint"


def analysis_text(analysis: Analysis, found: Sequence[Finding] = (), *, is_verbose: bool = False) -> str:
    """With ``is_verbose`` what EXPLAIN says of each stage stands there, too."""
    notes = {stage.name: stage_notes(stage, analysis) for stage in analysis.job.stages}
    lines = [headline(analysis), *job_tree(analysis.job, notes, has_facts=is_verbose)]
    for one in found:
        lines.append(f"{_HINTS}: {one.text}")
        if one.line is not None:
            lines.append(f"      {one.line}")
    return "\n".join(lines)


def headline(analysis: Analysis) -> str:
    slow = analysis.bottleneck
    parts = [
        f"job {analysis.job.name}",
        f"{counted(len(analysis.records))} in {show_seconds(analysis.span)}",
        f"{analysis.rows_in:,} rows",
        f"batch p50 {analysis.percentile(0.5):.2f} s, p95 {analysis.percentile(0.95):.2f} s",
    ]
    if analysis.retried:
        parts.append(f"{analysis.retried:,} begun again")
    if slow is not None:
        waits = ", reading waits for it" if analysis.is_sink(slow.name) else ""
        parts.append(f"bottleneck: {slow.name} ({slow.share:.0%} of the time{waits})")
    return " · ".join(parts)


def counted(batches: int) -> str:
    """
    >>> counted(1), counted(1200)
    ('1 batch', '1,200 batches')
    """
    return f"{batches:,} {'batch' if batches == 1 else 'batches'}"


def stage_notes(stage: Stage, analysis: Analysis) -> list[tuple[str, str]]:
    """Labelled figures of one stage, in reading order."""
    own = analysis.operators[stage.name]
    notes = [("rows", rows_text(own))] if not isinstance(stage, LoadTable) else []
    if isinstance(stage, Write):
        refused = sum(analysis.operators[name].refused for name in stage.inputs)
        notes = [("rows", f"{own.rows_in or 0:,} written" + (f", {refused:,} of them refused" if refused else ""))]
    notes.append(("time", f"{own.share:.0%} of the time, {own.seconds / len(analysis.records):.3f} s a batch, p95 {own.p95:.3f} s"))
    if isinstance(stage, Read):
        notes += source_notes(stage.name, analysis)
    if isinstance(stage, LoadTable):
        table = analysis.last.tables.get(stage.name)
        if table is not None and table.rows is not None:
            notes.insert(0, ("rows", f"{table.rows:,} at hand"))
        if table is not None and table.stale is not None:
            notes.append(("stale", table.stale))
    if stage.name in analysis.statements and not isinstance(stage, Read):
        notes += window_notes(analysis.statements[stage.name])
    if own.rows_held:
        notes.append(("state", f"{own.rows_held:,} rows, {show_bytes(own.bytes_held)} in the {own.home}"))
    return notes


def rows_text(own: OperatorTotals) -> str:
    """Rows in as the sum of what became of them, then rows out.

    >>> rows_text(OperatorTotals("t", "Read", 10, 7, 7, 1, {"WR701": 2}, {}, 0, 0, 0, 0.0, 0.0, 0.0, 0, 0, "driver"))
    '10 in = 7 passed + 1 filtered + 2 dead (WR701 2) -> 7 out (70 %)'
    """
    if own.rows_in is None:
        return "not counted: that would be a Spark job of its own" if own.rows_out is None else f"{own.rows_out:,} out"
    parts = [f"{own.passed or 0:,} passed"]
    if own.filtered:
        parts.append(f"{own.filtered:,} filtered")
    for word, counts in (("dead", own.dead), ("dropped", own.dropped)):
        if counts:
            parts.append(f"{sum(counts.values()):,} {word} ({', '.join(f'{code} {count:,}' for code, count in sorted(counts.items()))})")
    out = "" if own.rows_out is None else f" -> {own.rows_out:,} out"
    if own.selectivity is not None:
        out += f" ({own.selectivity:.0%})".replace("%", " %")
    late = [(own.late_corrected, "as corrections"), (own.late_included, "into the next window")]
    told = [f"{count:,} late {how}" for count, how in late if count]
    return f"{own.rows_in:,} in = {' + '.join(parts)}{out}" + (f"; {', '.join(told)}" if told else "")


def source_notes(name: str, analysis: Analysis) -> list[tuple[str, str]]:
    source = analysis.sources[name]
    notes = [("partitions", _partitions(source))]
    clock = source.clock
    if clock.is_ended:
        return [*notes, ("watermark", "the input was declared ended")]
    mark = "unset" if clock.after is None else f"{show_micros(clock.after)}, {_behind(analysis.last.arrival - clock.after)}"
    found = holds_back(analysis, name)
    held = ""
    if found is not None and len(clock.partitions) > 1:
        number, partition, ahead = found
        place = (
            "nothing yet"
            if partition.greatest is None
            else f"at {show_micros(partition.greatest)}, {show_seconds(ahead / 1e6)} behind the furthest"
        )
        last = show_seconds(max(0, analysis.last.arrival - partition.seen_at) / 1e6)
        held = f"; held back by partition {number} ({place}, last row {last} ago)"
    idle = f"; idle: {', '.join(map(str, clock.idle))}" if clock.idle else ""
    return [*notes, ("watermark", f"{mark}, delay {show_duration(clock.delay)}{held}{idle}")]


def _partitions(source: SourceTotals) -> str:
    count = len(source.clock.partitions) + source.clock.left_out
    if not source.rows or count < 2:
        return f"{count:,}"
    busiest, total = source.busiest, sum(source.rows.values())
    assert busiest is not None
    return f"{count:,}, skew {source.skew or 0:.1f} (partition {busiest}: {source.rows[busiest] / max(1, total):.0%} of the rows)"


def _behind(micros: int) -> str:
    return (
        f"{show_seconds(micros / 1e6)} behind the arrival of the last batch"
        if micros >= 0
        else f"{show_seconds(-micros / 1e6)} ahead of it"
    )


def window_notes(own: StatementTotals) -> list[tuple[str, str]]:
    last = own.last
    parts = [f"{last.open:,} open" if last.open is not None else "open ones not counted (too many)"]
    parts += [f"{last.kept:,} kept for late rows"] if last.kept else []
    counts = ((own.opened, "opened"), (own.closed, "closed"), (own.corrected or None, "corrected"))
    parts += [f"{count:,} {what}" for count, what in counts if count is not None]
    notes = [("windows", ", ".join(parts))]
    if own.emissions:
        notes.append(("emitted", ", ".join(f"{count:,} {kind}" for kind, count in own.emissions.items())))
    if own.late_by:
        total, most = sum(own.late_by.values()), max(own.late_by)
        notes.append(("too late", f"{total:,} rows, by {show_seconds(most / 1e6)} at most"))
    return notes


def show_bytes(count: int) -> str:
    """
    >>> show_bytes(999), show_bytes(1_300_000)
    ('999 B', '1.2 MiB')
    """
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError


def analysis_json(analysis: Analysis, found: Sequence[Finding] = ()) -> dict[str, Any]:
    """For programs: the same figures, lengths of time in seconds or microseconds as their names say."""
    slow = analysis.bottleneck
    return {
        "job": analysis.job.name,
        "batches": len(analysis.records),
        "first_batch": analysis.records[0].batch_id,
        "last_batch": analysis.last.batch_id,
        "span_seconds": round(analysis.span, 3),
        "seconds": round(analysis.seconds, 6),
        "p50_seconds": analysis.percentile(0.5),
        "p95_seconds": analysis.percentile(0.95),
        "rows_in": analysis.rows_in,
        "retried": analysis.retried,
        "phases": {name: round(seconds, 6) for name, seconds in analysis.phases.items()},
        "bottleneck": None if slow is None else slow.name,
        "operators": [{**asdict(one), "selectivity": one.selectivity} for one in analysis.operators.values()],
        "sources": {name: _source_json(one) for name, one in analysis.sources.items()},
        "statements": {name: _statement_json(one) for name, one in analysis.statements.items()},
        "tables": {name: one.to_json() for name, one in analysis.last.tables.items()},
        "held_by": None if analysis.last.held_by is None else analysis.last.held_by.to_json(),
        "hints": [one.to_json() for one in found],
    }


def _source_json(source: SourceTotals) -> dict[str, Any]:
    return {**source.clock.to_json(), "rows_by_partition": dict(source.rows), "skew": source.skew}


def _statement_json(own: StatementTotals) -> dict[str, Any]:
    last: Mapping[str, Any] = own.last.to_json()
    sums = {"opened": own.opened, "closed": own.closed, "corrected": own.corrected}
    return {**last, **sums, "emissions": dict(own.emissions), "late_by": dict(own.late_by)}
