"""What the OTAP receiver does: complete windows of a table, one batch after another."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.connectors.otap.settings import read_settings
from windrow.connectors.reach import refuse_unshared
from windrow.connectors.runtime import NO_PROVENANCE, SEQ, Connector, SourceReport, SourceRequest, SourceStream, WindowsAhead
from windrow.errors import UsageError
from windrow.otap.layout import Base
from windrow.storage import qualified
from windrow.storage.opening import local_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ADDED = {SEQ: "BIGINT", "_offset": "BIGINT", "_topic": "STRING"}


def open_source(spark: SparkSession, request: SourceRequest) -> SourceStream:
    settings = read_settings(request.options)
    base = Base(qualified(settings.path, spark))
    if not base.is_there:
        hint = f"make it, or try it out: windrow otap generate {settings.path}"
        raise UsageError("WR882", f"there is no folder {settings.path}", hint)
    refuse_unshared(spark, f"the source {request.name} is read by the executors", qualified(settings.path, spark))
    return SourceStream(_frame(spark, request), 1, None, NO_PROVENANCE)


def watermark_of(offset: Mapping[str, Any]) -> int | None:
    """In microseconds: once windows up to there have been handed over, nothing before it is to come."""
    until = offset.get("until_ns")
    return None if until is None else int(until) // 1000


def report(folder: str) -> SourceReport:
    """How many windows are safe or waiting (None before it has looked), and the files that the windows were made without."""
    from windrow.otap.notes import Notes

    notes = Notes(Path(notes_folder(folder)))
    ahead = notes.ahead()
    return SourceReport(None if ahead is None else WindowsAhead(ahead.safe, ahead.waiting, ahead.late_rows), notes.unread())


def _frame(spark: SparkSession, request: SourceRequest) -> DataFrame:
    import pyarrow as pa

    from windrow.connectors.otap.reader import FORMAT, OtapSource
    from windrow.connectors.otap.shape import arrow_type

    spark.dataSource.register(OtapSource)
    columns = {column.name: str(column.type) for column in request.columns}
    schema = ", ".join(f"`{name}` {type_}" for name, type_ in {**columns, **_ADDED}.items())
    options = {
        "schema": schema,
        "columns": pa.schema([(column.name, arrow_type(column.type)) for column in request.columns]).serialize().to_pybytes().hex(),
        # Workers may have another default file system, and another folder that they stand in.
        "options": json.dumps({**request.options, "path": qualified(request.options["path"], spark)}),
        "notes": tempfile.mkdtemp(prefix="windrow-otap-") if request.folder is None else notes_folder(request.folder),
        "ended": str(request.is_ended).lower(),
    }
    return spark.readStream.format(FORMAT).options(**options).load()


def notes_folder(folder: str) -> str:
    """The folder that a source may keep notes in, as a path on a local disk."""
    if (path := local_path(folder)) is not None:
        return path
    hint = "choose a local folder with --state; the telemetry itself may be anywhere"
    raise UsageError("WR883", f"an OTAP source keeps notes in the state folder, and {folder} is not on a local disk", hint)


class OtapConnector(Connector):
    def open_source(self, spark: SparkSession, request: SourceRequest) -> SourceStream:
        return open_source(spark, request)

    def watermark_of(self, offset: Mapping[str, Any]) -> int | None:
        return watermark_of(offset)

    def report(self, folder: str) -> SourceReport:
        return report(folder)
