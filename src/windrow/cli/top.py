"""``windrow top``: a live screen of one file's jobs, or of every job below the folder of state. Starts no Spark."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windrow.cli import codes
from windrow.cli.arguments import Env, Reach, State
from windrow.cli.observing import observed_jobs

if TYPE_CHECKING:
    from rich.console import Group, RenderableType
    from rich.table import Table

    from windrow.diagnosis.analysis import Analysis
    from windrow.jobs.observed import ObservedJob
    from windrow.observe.batch_record import BatchRecord

MaybeFile = Annotated[str | None, typer.Argument(metavar="[FILE]", help="A SQL file; without it, every job below the state folder.")]
Once = Annotated[bool, typer.Option("--once", help="One frame, then leave.")]
Every = Annotated[float, typer.Option("--interval", help="Seconds between two frames.", min=0.2)]

_NEWEST = 60
_BARS = "▁▂▃▄▅▆▇█"
_PARTITIONS = 8
_HINTS = 3


def top(
    file: MaybeFile = None, once: Once = False, interval: Every = 1.0, state: State = None, settings: Reach = None, env: Env = None
) -> None:
    """Watch jobs as they run: rows a second, lag, watermark by partition, where the time goes, late and dead rows, state, alerts."""
    from rich.live import Live

    from windrow.cli.screen import screen

    console = screen()
    if once or not console.is_terminal:
        while True:
            console.print(_frame(file, state, settings, env))
            if once:
                return
            time.sleep(interval)
    with Live(_frame(file, state, settings, env), console=console, screen=True, auto_refresh=False) as live:
        while True:
            time.sleep(interval)
            live.update(_frame(file, state, settings, env), refresh=True)


def _frame(file: str | None, state: str | None, settings: list[str] | None, env: str | None) -> Group:
    from rich.console import Group
    from rich.text import Text

    if file is None:
        return Group(_overview(state))
    parts: list[RenderableType] = []
    for observed in observed_jobs(file, state, None, settings, env):
        records = observed.records(_NEWEST)
        if not records:
            parts.append(Text(f"job {observed.job.name}: {observed.standing}; no batch yet"))
            continue
        parts += _job(observed, [record for record in records if record.run == records[-1].run], file)
    return Group(*parts)


def _job(observed: ObservedJob, records: list[BatchRecord], file: str) -> list[RenderableType]:
    from rich.text import Text

    from windrow.cli.explain import standing
    from windrow.diagnosis.analysis import analyze
    from windrow.diagnosis.findings import findings

    analysis = analyze(observed.job, records)
    found = findings(analysis, notes=observed.notes(), file=file)[:_HINTS]
    return [
        Text(f"job {observed.job.name}: {standing(observed, analysis)}", style="bold"),
        Text(_speed(analysis)),
        *(Text(f"  {line}") for line in _reasons(analysis)),
        _clocks(analysis),
        _shares(analysis),
        *_alerts(observed),
        *(Text(f"! {one.text}", style="yellow") for one in found),
        Text(""),
    ]


def _speed(analysis: Analysis) -> str:
    from windrow.cli.screen import show_micros, show_seconds
    from windrow.diagnosis.explained import show_bytes

    last = analysis.last
    speeds = [record.rows_in / record.seconds if record.seconds else 0.0 for record in analysis.records]
    lag = "watermark unset" if last.watermark is None else f"watermark {show_micros(last.watermark)}, {_lag(last)}"
    opened = sum(one.last.open or 0 for one in analysis.statements.values())
    return (
        f"{speeds[-1]:,.0f} rows/s {sparkline(speeds)} · batch {show_seconds(last.seconds)} · {lag} · {opened:,} open · "
        f"state {show_bytes(last.state_bytes)}"
    )


def _lag(record: BatchRecord) -> str:
    from windrow.cli.screen import show_seconds

    return f"lag {show_seconds(max(0, record.arrival - (record.watermark or 0)) / 1e6)}"


def sparkline(values: list[float]) -> str:
    """
    >>> sparkline([0.0, 5.0, 10.0]), sparkline([])
    ('▁▅█', '')
    """
    most = max(values, default=0.0)
    return "".join(_BARS[round(value / most * (len(_BARS) - 1)) if most else 0] for value in values)


def _reasons(analysis: Analysis) -> list[str]:
    """Rows that did not go on, by reason."""
    from windrow.cli.screen import meaning_of

    found = []
    for name, own in analysis.operators.items():
        for word, counts in (("dead", own.dead), ("dropped", own.dropped)):
            found += [f"{count:,} {word} {code} by {name}: {meaning_of(code)}" for code, count in sorted(counts.items())]
        if own.late_corrected or own.late_included:
            found.append(f"{own.late_corrected:,} late rows of {name} as corrections, {own.late_included:,} into the next window")
    return found


def _clocks(analysis: Analysis) -> Table:
    from windrow.cli.screen import show_micros, show_seconds, table

    made = table("source", "partition>", "event time", "last row", "rows>", "")
    for name, source in analysis.sources.items():
        ordered = sorted(source.clock.partitions.items(), key=lambda one: (one[1].greatest is not None, one[1].greatest or 0))
        for place, (number, one) in enumerate(ordered[:_PARTITIONS]):
            reached = "nothing yet" if one.greatest is None else show_micros(one.greatest)
            ago = show_seconds(max(0, analysis.last.arrival - one.seen_at) / 1e6)
            note = "idle" if number in source.clock.idle else "holds the watermark" if place == 0 and len(ordered) > 1 else ""
            made.add_row(name, f"{number}", reached, f"{ago} ago", f"{source.rows.get(number, 0):,}" if source.rows else "", note)
        if len(ordered) > _PARTITIONS:
            made.add_row(name, "", f"and {len(ordered) - _PARTITIONS:,} more, further on", "", "", "")
    return made


def _shares(analysis: Analysis) -> Table:
    from windrow.cli.screen import table

    made = table("operator", "time>", "", "rows in>", "rows out>", "rows held>")
    for one in sorted(analysis.operators.values(), key=lambda own: -own.seconds):
        known = ["?" if rows is None else f"{rows:,}" for rows in (one.rows_in, one.rows_out)]
        made.add_row(one.name, f"{one.share:.0%}", "█" * round(one.share * 20), *known, f"{one.rows_held:,}" if one.rows_held else "")
    return made


def _alerts(observed: ObservedJob) -> list[RenderableType]:
    """How the alerts of the file stand, those that fire first."""
    from windrow.cli.screen import show_micros, table
    from windrow.jobs.alert_watch import read_alerts
    from windrow.observe.alerts import FIRING, PENDING

    order = (FIRING, PENDING)
    states = sorted(read_alerts(observed.folder), key=lambda one: order.index(one.state) if one.state in order else len(order))
    if not states:
        return []
    made = table("alert", "is", "level", "since", "value>", "")
    for one in states:
        since = "" if one.since is None else show_micros(one.since * 1000)
        value = "" if one.value is None else f"{one.value:,.6g}"
        made.add_row(
            one.rule, one.state, one.level, since, value, one.summary, style={FIRING: "bold red", PENDING: "yellow"}.get(one.state)
        )
    return [made]


def _overview(state: str | None) -> Table:
    """Every job below a folder, a line each, by its records alone."""
    from windrow.cli.screen import show_micros, show_seconds, table
    from windrow.errors import UsageError
    from windrow.jobs.alert_watch import read_alerts
    from windrow.jobs.batch_records import read_notes, read_records
    from windrow.jobs.identity import CARD, RECORDS
    from windrow.observe.alerts import FIRING
    from windrow.settings import load_settings
    from windrow.storage import LocalFolder
    from windrow.storage.lease import holder_of

    root = Path(state or load_settings().state)
    cards = sorted([*root.glob(f"*/{CARD}"), *root.glob(f"*/*/{CARD}")])
    if not cards:
        raise UsageError(codes.NO_STATE, f"there is no state of any job below {root}", "run a file first, or name it: windrow top FILE")
    made = table("job", "is", "batch>", "rows/s>", "last batch>", "watermark", "lag>", "late>", "dead>", "alerts>", "committed at")
    for card in cards:
        folder = LocalFolder(card.parent)
        records, notes = read_records(folder.child(RECORDS), _NEWEST), read_notes(folder.child(RECORDS))
        is_running = holder_of(folder) is not None
        standing = notes[-1].state if notes and (is_running or notes[-1].state != "running") else "running" if is_running else "stopped"
        name = str(card.parent.relative_to(root))
        if not records:
            made.add_row(name, standing, *("" for _ in range(9)))
            continue
        last = records[-1]
        late = sum(sum(one.late_by.values()) for record in records for one in record.statements.values())
        dead = sum(sum(record.dead_letters.values()) for record in records)
        mark, lag = ("", "") if last.watermark is None else (show_micros(last.watermark), _lag(last).removeprefix("lag "))
        alerts = read_alerts(folder)
        firing = f"{sum(one.state == FIRING for one in alerts)} of {len(alerts)}" if alerts else ""
        speed = f"{last.rows_in / last.seconds if last.seconds else 0:,.0f}"
        made.add_row(
            name,
            standing,
            f"{last.batch_id}",
            speed,
            show_seconds(last.seconds),
            mark,
            lag,
            f"{late:,}",
            f"{dead:,}",
            firing,
            show_micros(last.at),
        )
    return made
