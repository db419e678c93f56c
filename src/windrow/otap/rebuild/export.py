"""Windows as files of rebuilt telemetry: one file for each window and partition, the same whenever it is written."""

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
from windrow.otap.rebuild.batches import to_batches
from windrow.otap.rebuild.collect import ROOTS, Choose, Collector, Tables
from windrow.otap.rebuild.wire import encode_batch, write_delimited
from windrow.otap.timing import Timing, Window, busy_windows

Form = Literal["otap", "otlp", "otlp-json"]
_ENDINGS: dict[str, str] = {"otap": "otap", "otlp": "otlp", "otlp-json": "jsonl"}
_SHOWN = {"trace_id", "span_id", "parent_span_id"}


@dataclass(frozen=True)
class Exported:
    """One file. ``rows`` are those of the signal's root table, ``batches`` the messages they were cut into."""

    window: Window
    part_id: str
    path: Path
    rows: int
    batches: int


def export_windows(collector: Collector, signal: str, timing: Timing, bounds: Window, out: Path, form: Form) -> Iterator[Exported]:
    """Every window between the bounds that has rows, in order."""
    ranges = [file.times for files in collector.files.values() for file in files if file.times is not None]
    for window in busy_windows(timing, bounds.start, bounds.end, ranges):
        for part_id, tables in collector.windows(window):
            made = list(to_batches(ROOTS[signal], tables))
            folder = out / datetime.fromtimestamp(window.start // 1_000_000_000, UTC).strftime("%Y%m%dT%H%M%SZ")
            path = folder / f"{part_id.replace('/', '_') or 'all'}.{_ENDINGS[form]}"
            _replace(path, _content(signal, made, form))
            yield Exported(window, part_id, path, tables[ROOTS[signal]].num_rows, len(made))


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


def _content(signal: str, batches: list[Tables], form: Form) -> bytes:
    out = BytesIO()
    for number, tables in enumerate(batches):
        if form == "otap":
            write_delimited(out, encode_batch(number, tables))
            continue
        from windrow.otap.rebuild.otlp import to_json_line, to_request

        request = to_request(signal, tables)
        if form == "otlp":
            write_delimited(out, request.SerializeToString())
        else:
            out.write(to_json_line(request).encode() + b"\n")
    return out.getvalue()


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_bytes(content)
    temporary.replace(path)
