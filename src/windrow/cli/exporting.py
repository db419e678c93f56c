"""``windrow otap export``: windows of telemetry back into OTAP or OTLP messages. Starts no Spark."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from windrow.cli import codes
from windrow.cli.otap import IdForm
from windrow.cli.times import option_duration, option_time


class Signal(StrEnum):
    logs = "logs"
    traces = "traces"
    metrics = "metrics"


class Message(StrEnum):
    otap = "otap"
    otlp = "otlp"
    otlp_json = "otlp-json"


Source = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the tables.", show_default=False)]
Target = Annotated[Path, typer.Argument(metavar="OUT", help="Where the messages go; made if missing.", show_default=False)]
Start = Annotated[str | None, typer.Option("--from", help="First window; the earliest if not given.", metavar="TIME", show_default=False)]
End = Annotated[str | None, typer.Option("--to", help="End; the last safe window if not given.", metavar="TIME", show_default=False)]
Where = Annotated[str | None, typer.Option("--where", help="Only rows that meet this condition.", metavar="SQL", show_default=False)]


def export_messages(
    folder: Source,
    out: Target,
    signal: Annotated[Signal, typer.Option("--signal", help="What to export.")] = Signal.logs,
    form: Annotated[Message, typer.Option("--format", help="OTAP batches, OTLP requests, or OTLP as JSON lines.")] = Message.otlp_json,
    start: Start = None,
    end: End = None,
    where: Where = None,
    granularity: Annotated[str, typer.Option("--granularity", help="Length of a window.")] = "1m",
    margin: Annotated[str, typer.Option("--safety-margin", help="A window is taken this long after its end.")] = "12m",
    ids: Annotated[IdForm, typer.Option("--ids", help="How resource and scope ids are meant.")] = IdForm.batch_local,
) -> None:
    """Write the telemetry of complete windows as messages, one file for each window and partition. Written again, they are the same."""
    from windrow.cli.screen import say, screen, show_micros, table
    from windrow.errors import UsageError
    from windrow.otap.discovery import Discovery, TimeRule
    from windrow.otap.footers import FooterCache
    from windrow.otap.places import Base
    from windrow.otap.rebuild.collect import ROOTS, Collector
    from windrow.otap.rebuild.export import choosing, export_windows
    from windrow.otap.timing import Timing, Window
    from windrow.otap.windows import Reading

    timing = Timing(option_duration("--safety-margin", margin), 0, 0, option_duration("--granularity", granularity))
    fault = timing.fault()
    if fault is not None:
        raise UsageError(codes.BAD_VALUE, fault, "--granularity 1m")
    base = Base(str(folder))
    if not base.is_there:
        raise UsageError("WR882", f"there is no folder {folder}", f"make it, or try it out: windrow otap generate {folder}")
    discovery = Discovery(base, FooterCache(), timing, TimeRule())
    collector = Collector(base, discovery, signal.value, Reading(ROOTS[signal.value], ids=ids.value), choosing(where))
    known = [file.times for files in collector.files.values() for file in files if file.times is not None]
    first = option_time("--from", start) if start is not None else min((low for low, _ in known), default=0)
    safe = timing.safe_until(time.time_ns())
    bounds = Window(timing.window_at(first).start, safe if end is None else min(safe, option_time("--to", end)))
    console = screen()
    made = table("window", "partition", "rows>", "messages>", "file")
    rows = 0
    for one in export_windows(collector, signal.value, timing, bounds, out, form.value):
        rows += one.rows
        made.add_row(show_micros(one.window.start // 1000), one.part_id, f"{one.rows:,}", f"{one.batches:,}", str(one.path.name))
    console.print(made)
    say(console, f"{rows:,} rows in {out}; the resource of {collector.seen.ambiguous:,} rows that were read is not certain")
    for path, reason in sorted(collector.seen.faults.items()):
        say(console, f"left out: {path}: {reason}")
