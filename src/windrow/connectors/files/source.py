"""Files as a streaming frame, each read once, in the order they were last written."""

from __future__ import annotations

import csv as csv_text
import difflib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from windrow.connectors.changes import DEBEZIUM
from windrow.connectors.csv_values import any_of, from_text, is_wrong
from windrow.connectors.debezium import EnvelopeSettings, envelope_as_json
from windrow.connectors.encoding import SPARK_JSON, quoted
from windrow.connectors.files.file_ids import ADDRESS_SQL, NUMBER_SQL, address_as_path, file_paths
from windrow.connectors.files.inputs import Inputs, find_inputs, fingerprint
from windrow.connectors.files.json_fast_scan import WHOLE_FILES, speculative_source
from windrow.connectors.files.settings import CsvSettings, SourceSettings
from windrow.connectors.reach import refuse_unshared
from windrow.connectors.runtime import BAD, NO_PROVENANCE, ORIGINAL, RAW, SEQ, TOPIC_NUMBER, SourceRequest, SourceStream
from windrow.errors import UsageError
from windrow.model import row_protocol
from windrow.model.types import ColumnDef

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

# Everything that does not end in ".tmp". Hadoop's patterns cannot say "not", so the endings are spelled out.
_NOT_TMP = "{*[^p],*[^m]p,*[^t]mp,*[^.]tmp,p,mp,tmp}"
# Spark forgets files after a week by default, and would pass over an old file that is moved in late without a word.
_NEVER = "36500d"
_CORRUPT = "__corrupt"
# The input order as one whole number, because rows are compared by it: the second a file was written (counted from 2020, which leaves 33
# bits), then the place in the file. Splits of one file are told apart by where they start: a split has no more rows than bytes.
_METADATA = "_metadata."
_WRITTEN_SQL = f"shiftleft(unix_seconds({_METADATA}file_modification_time) - 1577836800, 33)"
_WRITTEN, _PLACE, _ADDRESS = "_written", row_protocol.PLACE, "_address"
_LINE_NUMBER = "monotonically_increasing_id()"
_IN_SPLIT = f"{_METADATA}file_block_start + ({_LINE_NUMBER} & 8589934591)"
_BLANKS = " \t\r\n\x0b\x0c"


def open_source(spark: SparkSession, request: SourceRequest) -> SourceStream:
    settings = SourceSettings.of(request.options)
    inputs = find_inputs(spark, settings)
    if inputs.samples:
        refuse_unshared(spark, f"the source {request.name} is read by the executors", inputs.samples[0].rpartition("/")[0])
    stream = _open(spark, request, settings, inputs)
    if not request.is_table:
        return stream
    # Taken before the files are read: what changes while they are is found by the next refresh.
    state = fingerprint(spark, settings)
    return replace(stream, offset=state, is_unchanged=state == request.since)


def _open(spark: SparkSession, request: SourceRequest, settings: SourceSettings, inputs: Inputs) -> SourceStream:
    if inputs.format == "parquet":
        return _stream(request, _parquet(spark, request, settings, inputs), None)
    # The position of a row in its file is counted while it is read. Spark refuses that in a stream because the count starts
    # again with every batch; here it only orders rows of one file split, which a batch always reads whole.
    spark.conf.set("spark.sql.streaming.unsupportedOperationCheck", "false")
    if inputs.format == "csv":
        return _stream(request, _csv(spark, request, settings, inputs), None)
    if inputs.format == DEBEZIUM:
        return _changes(spark, request, settings, inputs)
    lines = _stream(request, _json(spark, request, settings, inputs), "json")
    if request.is_table:
        return lines
    own = {name: sql.replace(_METADATA, "") for name, sql in _places(request, _LINE_NUMBER, _IN_SPLIT).items()}
    return replace(
        lines, speculative=speculative_source(spark, request, inputs.load, replace(lines, lazy_columns={**own, **lines.lazy_columns}))
    )


def _stream(request: SourceRequest, frame: DataFrame, format_: str | None) -> SourceStream:
    """Rows with what only the reading itself knows of them. The arrival time is left to the engine, which takes it once per batch.

    The order over files is by when they were last written.
    """
    place = _PLACE if _PLACE in frame.columns else "_offset"
    later = {
        **NO_PROVENANCE,
        "_topic": address_as_path(_ADDRESS),
        SEQ: f"{_WRITTEN} + {place}" if request.needs_order else "0L",
    }
    topics = file_paths if TOPIC_NUMBER in frame.columns else None
    return SourceStream(frame, 1, format_, later, {} if _ADDRESS in frame.columns else {_ADDRESS: ADDRESS_SQL}, topics)


def _changes(spark: SparkSession, request: SourceRequest, settings: SourceSettings, inputs: Inputs) -> SourceStream:
    """Lines with an envelope each. Workers take many rows at once, so the file that a row is of is asked for before they do."""
    from pyspark.sql import functions as F

    lines = _json(spark, request, settings, inputs).drop(TOPIC_NUMBER)
    decode = partial(envelope_as_json, settings=EnvelopeSettings.of(request.columns, request.options))
    given = lines.select(F.col(RAW).alias(ORIGINAL), F.expr(ADDRESS_SQL).alias(_ADDRESS), *(name for name in lines.columns if name != RAW))
    return replace(_stream(request, given.select("*", decode(F.col(ORIGINAL)).alias(RAW)), "json"), decode=decode)


def _json(spark: SparkSession, request: SourceRequest, settings: SourceSettings, inputs: Inputs) -> DataFrame:
    from pyspark.sql import functions as F

    lines = _rows(spark, request, "text", settings, inputs, None, {})
    # To trim costs as much as to parse, and a line that begins like an object is not blank.
    lines = lines.where(F.startswith("value", F.lit("{")) | (F.length(F.btrim("value", F.lit(_BLANKS))) > 0))
    # Rows of text are copied several times on their way through Python workers.
    number = [] if request.is_table else [F.expr(NUMBER_SQL).alias(TOPIC_NUMBER)]
    return lines.select(F.col("value").alias(RAW), *number, *_provenance(request, _LINE_NUMBER, _IN_SPLIT))


def _parquet(spark: SparkSession, request: SourceRequest, settings: SourceSettings, inputs: Inputs) -> DataFrame:
    from pyspark.sql import functions as F

    schema = ", ".join(f"`{column.name.replace('`', '``')}` {column.type}" for column in request.columns)
    rows = _rows(spark, request, "parquet", settings, inputs, schema, {})
    named = [quoted(column.name) for column in request.columns]
    lacking = [quoted(column.name).isNull() for column in request.columns if not column.nullable]
    bad = [F.when(any_of(lacking), F.to_json(F.struct(*named), dict(SPARK_JSON))).alias(BAD)] if lacking else []
    return rows.select(*named, *bad, *_provenance(request, "_metadata.row_index"))


def _csv(spark: SparkSession, request: SourceRequest, settings: SourceSettings, inputs: Inputs) -> DataFrame:
    """Every value is read as text and cast here, so that one value that does not fit costs a NULL and not the row.

    Spark's own typed reading finds such a value only in the columns that a query happens to read.
    """
    from pyspark.sql import functions as F

    csv = settings.csv
    header = _header(spark, csv, inputs) if csv.header else None
    names = _check_header(header, request.columns, inputs.samples[0]) if header else [column.name for column in request.columns]
    schema = ", ".join(f"`{name.replace('`', '``')}` STRING" for name in [*names, _CORRUPT])
    options = {
        **_csv_options(csv),
        "mode": "PERMISSIVE",
        "columnNameOfCorruptRecord": _CORRUPT,
        # Or a record with too many or too few values is taken for a good one where only some columns are read.
        "columnPruning": "false",
        # The header of every file is compared with this schema, so that a file with another order is an error and not a mix-up.
        "header": str(csv.header).lower(),
        "enforceSchema": str(not csv.header).lower(),
        "multiLine": str(csv.multiline).lower(),
    }
    rows = _rows(spark, request, "csv", settings, inputs, schema, options)
    values = [from_text(column) for column in request.columns]
    strict = settings.bad_fields == "dead_letter"
    judged = [(column, value) for column, value in zip(request.columns, values, strict=True) if strict or not column.nullable]
    wrong = [is_wrong(column, value) for column, value in judged]
    text = F.to_csv(F.struct(*(quoted(name) for name in names)), _csv_options(csv))
    first = quoted(names[0])
    bad = F.coalesce(
        F.col(_CORRUPT),
        *([F.when(any_of(wrong), text)] if wrong else []),
        # Never true. Spark refuses a query that reads the corrupt record and no other column.
        F.when(F.octet_length(first) < 0, first),
    )
    named = [value.alias(column.name) for column, value in zip(request.columns, values, strict=True)]
    return rows.select(*named, bad.alias(BAD), *_provenance(request, _LINE_NUMBER, _IN_SPLIT))


def _rows(
    spark: SparkSession,
    request: SourceRequest,
    format_: str,
    settings: SourceSettings,
    inputs: Inputs,
    schema: str | None,
    options: dict[str, str],
) -> DataFrame:
    """The files of a stream, batch by batch; those of a table, all at once."""
    reader = (spark.read if request.is_table else spark.readStream).format(format_).options(**options)
    reader = reader.option("pathGlobFilter", _NOT_TMP).option("maxFileAge", _NEVER)
    reader = reader.options(**WHOLE_FILES)
    if settings.is_recursive:
        reader = reader.option("recursiveFileLookup", "true")
    if settings.per_batch is not None:
        reader = reader.option("maxFilesPerTrigger", str(settings.per_batch))
    if schema is not None:
        reader = reader.schema(schema)
    return reader.load(inputs.load)


def _provenance(request: SourceRequest, offset: str, place: str | None = None) -> list[Column]:
    """Where a row stands, as columns."""
    from pyspark.sql import functions as F

    return [F.expr(sql).alias(name) for name, sql in _places(request, offset, place).items()]


def _places(request: SourceRequest, offset: str, place: str | None = None) -> dict[str, str]:
    """SQL of where a row stands: its number in the file, and the parts of the input order where somebody asks for it.

    ``place`` orders the rows of one file where their number does not.
    """
    places = {"_offset": f"CAST({offset} AS BIGINT)"}
    if request.needs_order:
        places[_WRITTEN] = _WRITTEN_SQL
        if place is not None:
            places[_PLACE] = place
    return places


def _csv_options(csv: CsvSettings) -> dict[str, str]:
    return {"sep": csv.delimiter, "quote": csv.quote, "escape": csv.escape, "nullValue": csv.null}


def _header(spark: SparkSession, csv: CsvSettings, inputs: Inputs) -> list[str] | None:
    """The names in the first line of a file that is there, or None where there is none yet."""
    if not inputs.samples:
        return None
    first = spark.read.format("text").load(inputs.samples[0]).head()
    if first is None:
        return None
    doubled = csv.escape == csv.quote
    reader = csv_text.reader(
        [first[0]], delimiter=csv.delimiter[0], quotechar=csv.quote, doublequote=doubled, escapechar=None if doubled else csv.escape
    )
    return [name.strip() for name in next(reader)]


def _check_header(header: list[str], columns: tuple[ColumnDef, ...], sample: str) -> list[str]:
    """The header, if it names every declared column exactly once; columns are matched by name, in whatever order."""
    file = sample.removeprefix("file:")
    lowered = [name.lower() for name in header]
    for position, name in enumerate(lowered):
        if not name:
            raise UsageError("WR502", f"column {position + 1} in the header of {file} has no name", "name it, or leave the column out")
        if name in lowered[:position]:
            raise UsageError("WR502", f'the header of {file} has "{header[position]}" twice', "rename one of them")
    for column in columns:
        if column.name.lower() not in lowered:
            close = difflib.get_close_matches(column.name.lower(), lowered, n=1)
            guess = f'did you mean "{header[lowered.index(close[0])]}"? ' if close else ""
            raise UsageError(
                "WR502",
                f'the header of {file} has no column "{column.name}"',
                f"{guess}it has: {', '.join(header)}; for files without a header: 'csv.header' = 'false'",
            )
    return header
