"""``windrow otap export``: windows of telemetry back into OTAP or OTLP messages. Starts no Spark."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windrow.cli import codes
from windrow.cli.otap import IdForm
from windrow.cli.times import option_duration, option_time

if TYPE_CHECKING:
    from windrow.otap.rebuild.collect import Collector
    from windrow.otap.rebuild.export import Export
    from windrow.otap.timing import Window


# Brokers and clients take records of a million bytes unless told, and a record has more than its value.
_MOST_ROWS, _MOST_BYTES = 4_000, 900_000


class Signal(StrEnum):
    logs = "logs"
    traces = "traces"
    metrics = "metrics"


class Message(StrEnum):
    otap = "otap"
    otlp = "otlp"
    otlp_json = "otlp-json"


Source = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the tables.", show_default=False)]
Target = Annotated[
    Path | None, typer.Argument(metavar="OUT", help="The folder that the messages go to; made if missing.", show_default=False)
]
Topic = Annotated[str | None, typer.Option("--topic", help="A topic of Kafka that they go to instead.", show_default=False)]
Servers = Annotated[str | None, typer.Option("--bootstrap-servers", help="Brokers to ask first.", metavar="HOST:PORT", show_default=False)]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="An option of the Kafka sink: topic.create=true. Can be given again.",
        metavar="KEY=VALUE",
        show_default=False,
    ),
]
Start = Annotated[str | None, typer.Option("--from", help="First window; the earliest if not given.", metavar="TIME", show_default=False)]
End = Annotated[str | None, typer.Option("--to", help="End; the last safe window if not given.", metavar="TIME", show_default=False)]
Where = Annotated[str | None, typer.Option("--where", help="Only rows that meet this condition.", metavar="SQL", show_default=False)]


def export_messages(
    folder: Source,
    out: Target = None,
    signal: Annotated[Signal, typer.Option("--signal", help="What to export.")] = Signal.logs,
    form: Annotated[Message, typer.Option("--format", help="OTAP batches, OTLP requests, or OTLP as JSON lines.")] = Message.otlp_json,
    topic: Topic = None,
    servers: Servers = None,
    setting: Settings = None,
    start: Start = None,
    end: End = None,
    where: Where = None,
    granularity: Annotated[str, typer.Option("--granularity", help="Length of a window.")] = "1m",
    margin: Annotated[str, typer.Option("--safety-margin", help="A window is taken this long after its end.")] = "12m",
    ids: Annotated[IdForm, typer.Option("--ids", help="How resource and scope ids are meant.")] = IdForm.batch_local,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 if a file cannot be read; the others are exported.")] = False,
) -> None:
    """Write the telemetry of complete windows as messages, into files or a topic of Kafka.

    Files are named by window and partition, and the same when they are written again. To a topic each window goes once, in a transaction:
    the next run goes on after the last one.
    """
    from windrow.cli.screen import say, screen
    from windrow.cli.unread import refuse_unread
    from windrow.errors import UsageError
    from windrow.otap.discovery import Discovery, TimeRule
    from windrow.otap.footers import FooterCache
    from windrow.otap.layout import Base
    from windrow.otap.rebuild.collect import ROOTS, Collector
    from windrow.otap.rebuild.export import Export, choosing
    from windrow.otap.timing import Timing, Window
    from windrow.otap.windows import Reading

    if (out is None) == (topic is None):
        raise UsageError(codes.CONFLICT, "messages go either to a folder or to a topic", f"windrow otap export {folder} out")
    timing = Timing(option_duration("--safety-margin", margin), 0, 0, option_duration("--granularity", granularity))
    fault = timing.fault()
    if fault is not None:
        raise UsageError(codes.BAD_VALUE, fault, "--granularity 1m")
    base = Base(str(folder))
    if not base.is_there:
        raise UsageError("WR882", f"there is no folder {folder}", f"make it, or try it out: windrow otap generate {folder}")
    footers = FooterCache()
    collector = Collector(
        base,
        Discovery(base, footers, timing, TimeRule()),
        signal.value,
        Reading(ROOTS[signal.value], ids=ids.value),
        choosing(where),
    )
    known = [file.times for files in collector.files.values() for file in files if file.times is not None]
    first = option_time("--from", start) if start is not None else min((low for low, _ in known), default=0)
    safe = timing.safe_until(time.time_ns())
    bounds = Window(timing.window_at(first).start, safe if end is None else min(safe, option_time("--to", end)))
    if out is not None:
        rows = _to_files(collector, Export(signal.value, timing, form.value), bounds, out)
    else:
        assert topic is not None
        options = _kafka_options(topic, servers, setting or [])
        what = {"folder": str(folder.resolve()), "signal": signal, "form": form, "where": where, "granularity": timing.window_granularity}
        rows = _to_topic(collector, Export(signal.value, timing, form.value, _MOST_ROWS, _MOST_BYTES), bounds, options, what)
    console = screen()
    say(console, f"{rows:,} rows in {out or topic}; the resource of {collector.seen.ambiguous:,} rows that were read is not certain")
    faults = {file.path: file.fault for files in collector.files.values() for file in files if file.fault is not None}
    faults = {**footers.faults(), **faults, **collector.seen.faults}
    if faults:
        say(console, f"not read: {len(faults):,} files; their rows are in no message", style="bold red")
    for path, reason in sorted(faults.items()):
        say(console, f"left out: {path}: {reason}")
    if strict:
        refuse_unread(sorted(faults))


def _to_files(collector: Collector, export: Export, bounds: Window, out: Path) -> int:
    from windrow.cli.screen import screen, show_micros, table
    from windrow.otap.rebuild.export import rebuild_windows, write_file

    made, rows = table("window", "partition", "rows>", "messages>", "file"), 0
    for one in (part for parts in rebuild_windows(collector, export, bounds) for part in parts):
        path = write_file(out, one, export.form)
        rows += one.rows
        made.add_row(show_micros(one.window.start // 1000), one.part_id, f"{one.rows:,}", f"{len(one.messages):,}", path.name)
    screen().print(made)
    return rows


def _to_topic(collector: Collector, export: Export, bounds: Window, options: dict[str, str], what: dict[str, Any]) -> int:
    from windrow.cli.screen import say, screen, show_micros, table
    from windrow.jobs.message_topic import MessageTopic
    from windrow.otap.rebuild.export import rebuild_windows
    from windrow.otap.timing import Window

    made, rows = table("window", "partition", "rows>", "messages>"), 0
    topic = MessageTopic(options, export, what)
    done = topic.open()
    try:
        if done is not None and done > bounds.start:
            say(screen(), f"windows up to {show_micros(done // 1000)} are in {options['topic']} already")
            bounds = Window(done, max(done, bounds.end))
        for parts in rebuild_windows(collector, export, bounds):
            topic.write(parts)
            for one in parts:
                rows += one.rows
                made.add_row(show_micros(one.window.start // 1000), one.part_id, f"{one.rows:,}", f"{len(one.messages):,}")
    finally:
        topic.close()
    screen().print(made)
    return rows


def _kafka_options(topic: str, servers: str | None, given: list[str]) -> dict[str, str]:
    from windrow.connectors.kafka.sink_options import SINK_OPTIONS
    from windrow.errors import UsageError

    if servers is None:
        message = f"--topic {topic} names a topic, and nothing says of which broker"
        raise UsageError(codes.CONFLICT, message, f"--topic {topic} --bootstrap-servers localhost:9092")
    options = {key.strip(): value.strip() for key, _, value in (one.partition("=") for one in given)}
    known = {option.key for option in SINK_OPTIONS}
    wrong = [key for key, value in options.items() if not value or not (key in known or key.startswith("kafka."))]
    if wrong:
        raise UsageError(
            codes.BAD_VALUE, f"--set {wrong[0]}: a Kafka sink has no such option, or it has no value", "--set topic.create=true"
        )
    return {**options, "topic": topic, "bootstrap.servers": servers}
