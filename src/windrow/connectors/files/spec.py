"""What the files connector understands."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.connectors.changes import DEBEZIUM, TIME_UNIT, change_column
from windrow.connectors.files.endings import format_of
from windrow.connectors.paths import place_of_path
from windrow.connectors.spec import BATCH_TARGET, BatchCap, ConnectorSpec, OptionKind, OptionSpec, Place, SourceShape

FORMATS = ("json", "csv", "parquet")
SOURCE_FORMATS = (*FORMATS, DEBEZIUM)

_CSV_SHARED = (
    OptionSpec("csv.header", OptionKind.BOOLEAN, "whether the first line of a file names its columns", default="true", example="false"),
    OptionSpec("csv.delimiter", OptionKind.TEXT, "what stands between two values; a comma, or a tab for .tsv files", example=";"),
    OptionSpec("csv.quote", OptionKind.TEXT, "what stands around a value that holds the delimiter", default='"', example="|"),
    OptionSpec("csv.null", OptionKind.TEXT, "the text that means NULL", default="", example="\\N"),
)


def _shape(options: Mapping[str, str]) -> SourceShape:
    """Where neither an option nor the path tells the format, it is JSON unless the files say otherwise."""
    path = options.get("path", "")
    format_ = options.get("format", "").lower() or format_of(path) or "json"
    is_here = "://" not in path or path.startswith("file:")
    if format_ == DEBEZIUM:
        return SourceShape("json", keeps_original=True)
    return SourceShape("json", has_fast_scan=is_here) if format_ == "json" else SourceShape(None)


def _places(options: Mapping[str, str]) -> tuple[Place, ...]:
    return (place_of_path(options.get("path", "")),)


def _worker_modules(options: Mapping[str, str]) -> tuple[str, ...]:
    return ("pyarrow", "windrow") if options.get("format", "").lower() == DEBEZIUM else ()


FILES = ConnectorSpec(
    is_outside=False,
    batch_cap=BatchCap("files.per_batch", 1, is_files=True),
    name="files",
    summary="JSON lines, CSV or Parquet files in a folder, on local disks or any file system Spark can reach",
    runtime="windrow.connectors.files.runtime:FilesConnector",
    source=(
        OptionSpec("path", OptionKind.PATH, "folder, file or glob to read", is_required=True, example="data/trades/*.json"),
        OptionSpec(
            "format",
            OptionKind.CHOICE,
            "format of the files; by the ending of the path, else json; debezium: changes of rows, a line each",
            choices=SOURCE_FORMATS,
            example="csv",
        ),
        OptionSpec("files.per_batch", OptionKind.INTEGER, "how many files one micro-batch reads at most", example="10"),
        BATCH_TARGET,
        OptionSpec(
            "files.recursive", OptionKind.BOOLEAN, "whether folders inside the folder are read too", default="false", example="true"
        ),
        # The stream's own key, stated here so that it reaches the CSV reader, which decodes its rows itself.
        OptionSpec(
            "bad.fields",
            OptionKind.CHOICE,
            "what happens to a row with one field that cannot be decoded",
            default="null",
            choices=("null", "dead_letter"),
            example="dead_letter",
        ),
        TIME_UNIT,
        *_CSV_SHARED,
        OptionSpec("csv.escape", OptionKind.TEXT, "what stands before a quote inside a quoted value", default='"', example="\\"),
        OptionSpec("csv.multiline", OptionKind.BOOLEAN, "whether a quoted value may hold line breaks", default="false", example="true"),
    ),
    sink=(
        OptionSpec("path", OptionKind.PATH, "folder to write to, made if missing", is_required=True, example="out/volumes"),
        OptionSpec("format", OptionKind.CHOICE, "format of the files", default="json", choices=FORMATS, example="parquet"),
        *_CSV_SHARED,
    ),
    is_loadable=True,
    source_shape=_shape,
    places=_places,
    # They are named by their batch.
    why_alone="writes files, whose names two outputs cannot share",
    worker_modules=_worker_modules,
    change_column=change_column,
)
