"""Batches as files: staged out of sight, moved under names that follow from the batch id, then listed in a manifest.

A crash at any point leaves either the batch complete (its manifest is there) or nothing that counts, and writing the
batch again leaves what writing it once leaves:

1. stage every file in ``.staging/<batch>-<statement>``; 2. take away what an earlier attempt left; 3. move the files to
their names; 4. write the manifest; 5. remove the staging folder. As long as 5 has not happened, the staging folder is the
sign that files without a manifest may lie about, so a first attempt never has to list the whole folder.
"""

from __future__ import annotations

import io
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from windrow.connectors.encoding import flat_frame, in_micros, json_frame, json_lines, quoted, spark_times
from windrow.connectors.files.csv_text import csv_lines
from windrow.connectors.files.failures import open_failure, refuse_missing, write_failure
from windrow.connectors.files.manifest import MANIFESTS, BatchNames, Manifest, ManifestFile
from windrow.connectors.files.settings import SinkSettings
from windrow.connectors.reach import refuse_unshared
from windrow.connectors.runtime import Output, Sink, SinkRequest
from windrow.spark.internals.executors import is_cluster
from windrow.spark.internals.java_errors import spark_errors
from windrow.storage import Folder, StorageError, open_folder

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_ENDINGS = {"json": "json", "csv": "csv", "parquet": "parquet"}
_MOVING = "moving"
# A table of more rows than these becomes several files, each of at most so many.
_FEW_ROWS = 500_000
_MOST_ROWS = 1_000_000
# So many rows tell whether the values of a column come again.
_LOOKED_AT = 10_000
# Each file that is being made takes the memory of its rows once more.
_MOST_AT_ONCE = 4


def open_sink(spark: SparkSession, request: SinkRequest) -> FileSink:
    settings = SinkSettings.of(request.options)
    return FileSink(open_folder(settings.path, spark), request.statement, settings)


class FileSink(Sink):
    def __init__(self, folder: Folder, statement: str, settings: SinkSettings) -> None:
        self._folder = folder
        self._statement = statement
        self._settings = settings

    def open(self) -> None:
        """Make the folder and write a file into it, so that a wrong path is found before any row is read."""
        probe = f".staging/probe-{os.getpid()}"
        try:
            for name in ("", ".staging", MANIFESTS):
                self._folder.make(name)
            self._folder.write_new(probe, b"windrow was here\n")
            self._folder.remove(probe)
        except StorageError as error:
            raise open_failure(error, self._settings.path) from error

    def write(self, output: Output) -> None:
        names = BatchNames(output.batch_id, self._statement, _ENDINGS[self._settings.format])
        failures: tuple[type[Exception], ...] = (StorageError, *spark_errors())
        try:
            self._write(output, names)
        except failures as error:
            self._withdraw(names)
            raise write_failure(error, self._settings.path, output.batch_id) from error

    def close(self) -> None:
        """Nothing is held open between batches."""

    def _write(self, output: Output, names: BatchNames) -> None:
        has_earlier = self._folder.exists(names.staging) or self._folder.exists(names.manifest)
        self._folder.remove(names.staging)
        staged, rows = self._stage(output, names)
        if has_earlier:
            self._remove_published(names)
        if rows:
            self._publish(names, staged, rows)
        self._folder.remove(names.staging)

    def _stage(self, output: Output, names: BatchNames) -> tuple[list[str], int]:
        """The staged files in order, and how many rows they hold."""
        if output.table is not None:
            if output.table.num_rows == 0:
                return [], 0
            self._folder.make(names.staging)
            return self._stage_table(output.table, output.columns, names), output.table.num_rows
        if output.frame is None:
            return [], 0
        return self._stage_frame(output.frame, output.columns, names)

    def _stage_table(self, table: pa.Table, columns: tuple[str, ...], names: BatchNames) -> list[str]:
        """A large table as several files, which are made beside each other."""
        parts = _parts(table) if self._settings.format == "parquet" else [table]
        staged = [f"{names.staging}/table-{number:05d}" for number in range(len(parts))]

        def stage(name: str, part: pa.Table) -> None:
            self._folder.write_new(name, _encode(part, columns, self._settings))

        if len(parts) == 1:
            stage(staged[0], table)
        else:
            with ThreadPoolExecutor(_MOST_AT_ONCE) as pool:
                # Asked for, so that what failed in one of them is raised here.
                list(pool.map(stage, staged, parts))
        return staged

    def _stage_frame(self, frame: DataFrame, columns: tuple[str, ...], names: BatchNames) -> tuple[list[str], int]:
        from pyspark.sql import Observation
        from pyspark.sql import functions as F

        spark = frame.sparkSession
        refuse_unshared(spark, f"the output {self._statement} is written by the executors", self._folder.uri())
        self._folder.make(names.staging)
        target = f"{names.staging}/frame"
        # Counted in the same pass that writes: a second action would compute the batch again.
        counted = Observation()
        seen = [F.count(F.lit(1)).alias("rows")]
        if is_cluster(spark):
            seen.append(F.collect_set(F.spark_partition_id()).alias("parts"))
        _save(frame.observe(counted, *seen), columns, self._settings, self._folder.uri(target))
        rows = int(counted.get.get("rows", 0))
        parts = [f"{target}/{name}" for name in self._folder.entries(target) if name.startswith("part-")]
        refuse_missing(self._settings.path, rows, counted.get.get("parts") or (), parts)
        parts = [part for part in parts if self._folder.status(part).size > self._empty_size(columns)]
        for part in parts:
            self._folder.make_durable(part)
        return parts, rows

    def _empty_size(self, columns: tuple[str, ...]) -> int:
        """How large a text file without rows is; Spark writes one for an empty first partition."""
        csv = self._settings.csv
        if self._settings.format != "csv" or not csv.header:
            return 0
        # Quoting can only make the header longer, and then there is at most one needless file.
        return len(csv.delimiter.join(columns).encode()) + 1

    def _publish(self, names: BatchNames, staged: list[str], rows: int) -> None:
        folder = self._folder
        folder.write_new(f"{names.staging}/{_MOVING}", b"")
        folder.make_durable(names.staging)
        files = []
        for number, part in enumerate(staged):
            files.append(ManifestFile(names.part(number), folder.status(part).size))
            folder.move(part, names.part(number))
        folder.make_durable()
        manifest = Manifest(names.batch_id, names.statement, self._settings.format, rows, tuple(files))
        folder.replace_atomically(names.manifest, manifest.to_json())

    def _remove_published(self, names: BatchNames) -> None:
        """Take an earlier attempt of this batch away, its manifest first: a reader never sees a manifest without its files."""
        self._folder.remove(names.manifest)
        for name in self._folder.entries():
            if names.owns(name):
                self._folder.remove(name)

    def _withdraw(self, names: BatchNames) -> None:
        """After a failure leave nothing behind, as far as the disk still lets us; what stays is taken away by the next attempt."""
        try:
            if self._folder.exists(f"{names.staging}/{_MOVING}"):
                self._remove_published(names)
            self._folder.remove(names.staging)
        except StorageError:
            return


def _parts(table: pa.Table) -> list[pa.Table]:
    """A table cut into an even number of parts, as its rows alone tell: a batch that is written again has the same files."""
    rows = table.num_rows
    if rows <= _FEW_ROWS:
        return [table]
    size = -(-rows // (2 * -(-rows // (2 * _MOST_ROWS))))
    return [table.slice(start, size) for start in range(0, rows, size)]


def _encode(table: pa.Table, columns: tuple[str, ...], settings: SinkSettings) -> bytes:
    """A table as the bytes of one file, without a Spark job."""
    if settings.format == "parquet":
        import pyarrow.parquet as pq

        buffer = io.BytesIO()
        chosen = in_micros(table.select(list(columns)))
        pq.write_table(chosen, buffer, compression="snappy", use_dictionary=_repeating(chosen))
        return buffer.getvalue()
    lines = json_lines(table, columns) if settings.format == "json" else csv_lines(table, columns, settings.csv)
    return "".join(f"{line}\n" for line in lines).encode()


def _repeating(table: pa.Table) -> list[str] | bool:
    """The columns whose values come again and again, or whether all are to be taken for such.

    Others get a dictionary that is begun, grows too large and is given up, which costs a fifth of the time of a file.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if table.num_rows < 5 * _LOOKED_AT or any(pa.types.is_nested(field.type) for field in table.schema):
        return True
    numbers = [field.name for field in table.schema if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)]
    some = table.select(numbers).take(pa.array(range(0, table.num_rows, table.num_rows // _LOOKED_AT), pa.int64()))
    differing = {name for name in numbers if pc.count_distinct(some[name]).as_py() * 2 > len(some)}
    return [name for name in table.column_names if name not in differing]


def _save(frame: DataFrame, columns: tuple[str, ...], settings: SinkSettings, uri: str) -> None:
    """A frame as part files below ``uri``: the one action of the batch."""
    if settings.format == "json":
        json_frame(frame, columns).write.mode("overwrite").text(uri)
    elif settings.format == "parquet":
        # Without this Spark writes INT96, which other readers know as a relic.
        writer = frame.select(*(quoted(name) for name in columns)).write.mode("overwrite")
        writer.option("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS").parquet(uri)
    else:
        csv = settings.csv
        options = {
            **spark_times(frame),
            "header": str(csv.header).lower(),
            "sep": csv.delimiter,
            "quote": csv.quote,
            "escape": csv.quote,
            "nullValue": csv.null,
            "emptyValue": csv.quote * 2,
            "ignoreLeadingWhiteSpace": "false",
            "ignoreTrailingWhiteSpace": "false",
        }
        flat_frame(frame, columns, binary_as_text=True).write.mode("overwrite").options(**options).csv(uri)
