"""``windrow otap generate``: made-up OpenTelemetry data as the OTAP exporter writes it. Starts no Spark."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from windrow.cli import codes
from windrow.cli.times import option_duration, option_time

if TYPE_CHECKING:
    from windrow.otap.generate.writing import MadeFile


class IdForm(StrEnum):
    batch_local = "batch_local"
    partition_unique = "partition_unique"


class EncodingForm(StrEnum):
    dictionary = "dictionary"
    plain = "plain"


class LayoutForm(StrEnum):
    hive = "hive"
    flat = "flat"


class NameForm(StrEnum):
    millis = "millis"
    iso = "iso"


Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Where the tables go; made if missing.", show_default=False)]
Signals = Annotated[str, typer.Option("--signals", help="Which of logs, traces, metrics; comma between.")]
Start = Annotated[str, typer.Option("--start", help="Time of the first row, ISO 8601 in UTC.")]
Length = Annotated[str, typer.Option("--duration", help="How much time the data covers.")]
FileLength = Annotated[str, typer.Option("--file-duration", help="After this time a file is closed.")]
Drift = Annotated[str, typer.Option("--drift", help="How far the clock of a host is off at most.")]
Rate = Annotated[int, typer.Option("--rows-per-second", help="Logs a second in each partition; half as many spans and metrics.", min=2)]
LateFiles = Annotated[int, typer.Option("--late-files", help="So many files a partition go to DIR.late, to be moved in later.", min=0)]
NoTime = Annotated[float, typer.Option("--without-time", help="Share of logs without a time of their own.", min=0, max=1)]
MoreText = Annotated[int, typer.Option("--more-text", help="So many characters more in the text of each log.", min=0)]


def generate_files(
    folder: Folder,
    seed: Annotated[int, typer.Option("--seed", help="Another seed gives other data.", min=0)] = 0,
    signals: Signals = "logs,traces,metrics",
    start: Start = "2026-01-01T00:00:00Z",
    duration: Length = "5m",
    file_duration: FileLength = "1m",
    partitions: Annotated[int, typer.Option("--partitions", help="How many exporters wrote it.", min=1)] = 2,
    rows_per_second: Rate = 20,
    drift: Drift = "30s",
    late_files: LateFiles = 0,
    without_time: NoTime = 0.0,
    more_text: MoreText = 0,
    ids: Annotated[IdForm, typer.Option("--ids", help="How resource and scope ids are meant.")] = IdForm.batch_local,
    encoding: Annotated[EncodingForm, typer.Option("--encoding", help="Arrow type of texts.")] = EncodingForm.dictionary,
    layout: Annotated[LayoutForm, typer.Option("--layout", help="Folders _part_id=..., or none.")] = LayoutForm.hive,
    names: Annotated[NameForm, typer.Option("--names", help="How files say when they were begun.")] = NameForm.millis,
    statistics: Annotated[bool, typer.Option("--statistics/--no-statistics", help="Whether files state least and greatest values.")] = True,
) -> None:
    """Write made-up logs, traces and metrics as OTAP Parquet files, the same for the same seed."""
    from windrow.cli.screen import say, screen
    from windrow.errors import UsageError
    from windrow.otap.generate.settings import SIGNALS, Telemetry
    from windrow.otap.generate.telemetry import generate

    wanted = tuple(word.strip() for word in signals.split(","))
    unknown = [word for word in wanted if word not in SIGNALS]
    if unknown:
        raise UsageError(codes.BAD_VALUE, f'--signals: there is no signal "{unknown[0]}"', f"--signals {','.join(SIGNALS)}")
    if layout is LayoutForm.flat and partitions > 1:
        message = "--layout flat has no partition folders, so the ids of several partitions would mean several things"
        raise UsageError(codes.CONFLICT, message, "--layout flat --partitions 1")
    made = Telemetry(
        seed=seed,
        signals=wanted,
        start=option_time("--start", start),
        length=option_duration("--duration", duration),
        file_length=option_duration("--file-duration", file_duration),
        partitions=partitions,
        rows_per_second=rows_per_second,
        drift=option_duration("--drift", drift),
        late_files=late_files,
        without_time=without_time,
        more_text=more_text,
        ids=ids.value,
        encoding=encoding.value,
        layout=layout.value,
        names=names.value,
        has_statistics=statistics,
    )
    late_folder = folder.with_name(f"{folder.name}.late")
    try:
        files = generate(made, folder, late_folder)
    except OSError as error:
        raise UsageError(codes.UNWRITABLE, f"cannot write to {error.filename or folder}: {error.strerror}", "choose another DIR") from error
    console = screen()
    console.print(_summary(files))
    if any(file.is_late for file in files):
        say(console, f"late files are in {late_folder}; to let them arrive: cp -r {late_folder}/. {folder}")


def _summary(files: list[MadeFile]) -> object:
    from windrow.cli.screen import table

    made = table("table", "files>", "rows>", "bytes>")
    for name in sorted({file.table for file in files}):
        own = [file for file in files if file.table == name]
        size = sum(file.path.stat().st_size for file in own)
        made.add_row(name, f"{len(own):,}", f"{sum(file.rows for file in own):,}", f"{size:,}")
    return made
