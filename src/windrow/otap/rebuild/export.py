"""Windows as messages of rebuilt telemetry, and as files of them: one for each window and partition, the same whenever it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Literal

import polars as pl
import pyarrow as pa

from windrow.errors import UsageError
from windrow.otap.rebuild.batches import MOST, to_batches
from windrow.otap.rebuild.collect import ROOTS, Choose, Collector, Tables
from windrow.otap.rebuild.wire import encode_batch, write_delimited
from windrow.otap.timing import Timing, Window, busy_windows

Form = Literal["otap", "otlp", "otlp-json"]
_ENDINGS: dict[str, str] = {"otap": "otap", "otlp": "otlp", "otlp-json": "jsonl"}
_SHOWN = {"trace_id", "span_id", "parent_span_id"}


@dataclass(frozen=True)
class Rebuilt:
    """The telemetry of one partition in one window as messages; ``rows`` are those of the signal's root table."""

    window: Window
    part_id: str
    rows: int
    messages: tuple[bytes, ...]


@dataclass(frozen=True)
class Export:
    """What is made of a folder. A message has at most ``most_rows`` of the root table, fewer where it were longer than ``most_bytes``."""

    signal: str
    timing: Timing
    form: Form
    most_rows: int = MOST
    most_bytes: int | None = None


def rebuild_windows(collector: Collector, export: Export, bounds: Window) -> Iterator[list[Rebuilt]]:
    """Every window between the bounds that has rows, in order, each with its partitions."""
    ranges = [file.times for files in collector.files.values() for file in files if file.times is not None]
    root = ROOTS[export.signal]
    for window in busy_windows(export.timing, bounds.start, bounds.end, ranges):
        parts = [
            Rebuilt(window, part_id, tables[root].num_rows, tuple(_messages(export, tables)))
            for part_id, tables in collector.windows(window)
        ]
        if parts:
            yield parts


def write_file(out: Path, one: Rebuilt, form: Form) -> Path:
    """A file for a partition in a window, the same whenever it is written."""
    folder = out / datetime.fromtimestamp(one.window.start // 1_000_000_000, UTC).strftime("%Y%m%dT%H%M%SZ")
    path = folder / f"{one.part_id.replace('/', '_') or 'all'}.{_ENDINGS[form]}"
    content = BytesIO()
    for message in one.messages:
        if form == "otlp-json":
            content.write(message + b"\n")
        else:
            write_delimited(content, message)
    _replace(path, content.getvalue())
    return path


def choosing(condition: str | None) -> Choose:
    """Rows that meet a condition in SQL, such as ``severity_number >= 17 AND body.str LIKE '%error%'``."""

    def choose(rows: pa.Table) -> pa.Table:
        if condition is None:
            return rows
        frame = pl.DataFrame(pl.from_arrow(rows.select([name for name in rows.column_names if not name.endswith("attributes")])))
        frame = frame.with_columns(pl.col(name).bin.encode("hex") for name in frame.columns if name in _SHOWN)
        try:
            kept = pl.SQLContext(rows=frame.with_row_index("_place")).execute(f"SELECT _place FROM rows WHERE {condition}", eager=True)
        except pl.exceptions.PolarsError as error:
            reason = str(error).splitlines()[0]
            raise UsageError("WR886", f"--where {condition}: {reason}", "--where 'severity_number >= 17'") from None
        return rows.take(kept["_place"].sort().to_arrow())

    return choose


def _messages(export: Export, tables: Tables) -> list[bytes]:
    """Halved until they are short enough; a message with one row is as long as it is."""
    root = ROOTS[export.signal]
    made: list[bytes] = []

    def add(rows: pa.Table) -> None:
        (batch,) = to_batches(root, {**tables, root: rows})
        message = _message(export, batch, len(made))
        if export.most_bytes is not None and len(message) > export.most_bytes and rows.num_rows > 1:
            middle = rows.num_rows // 2
            add(rows.slice(0, middle))
            add(rows.slice(middle))
        else:
            made.append(message)

    for start in range(0, tables[root].num_rows, export.most_rows):
        add(tables[root].slice(start, export.most_rows))
    return made


def _message(export: Export, batch: Tables, number: int) -> bytes:
    if export.form == "otap":
        return encode_batch(number, batch)
    from windrow.otap.rebuild.otlp import to_json_line, to_request

    request = to_request(export.signal, batch)
    return request.SerializeToString() if export.form == "otlp" else to_json_line(request).encode()


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(content)
    temporary.replace(path)
