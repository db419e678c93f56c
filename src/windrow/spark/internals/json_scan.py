"""Spark's reader of JSON files, put on the files of a micro-batch that would be read as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from windrow.spark.internals.file_scan import only_scan, pieces_of
from windrow.spark.internals.jvm import java_session, jvm_of, need_constructor, need_methods

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_DATASOURCES = "org.apache.spark.sql.execution.datasources"


class Split(NamedTuple):
    """Bytes of a piece of a file, which has a number."""

    piece: int
    start: int
    length: int


def probe(spark: SparkSession) -> None:
    jvm = jvm_of(spark)
    reader = ("SparkSession", "Function1", "Seq", "StructType", "Seq", "Map", "FileSourceOptions")
    need_constructor(jvm, f"{_DATASOURCES}.FileScanRDD", *reader)
    piece = ("InternalRow", "SparkPath", "long", "long", "String[]", "long", "long", "Map")
    need_constructor(jvm, f"{_DATASOURCES}.PartitionedFile", *piece)
    need_constructor(jvm, f"{_DATASOURCES}.FilePartition", "int", "PartitionedFile[]")
    need_methods(jvm, f"{_DATASOURCES}.json.JsonFileFormat", buildReader=7, fileConstantMetadataExtractors=0)
    need_methods(jvm, "org.apache.spark.sql.classic.SparkSession", internalCreateDataFrame=3, sessionState=0)


class JsonReader:
    """Made once. It stops at what it cannot read: to note that instead would copy every row once more."""

    def __init__(self, spark: SparkSession, schema: StructType, options: Mapping[str, str]) -> None:
        jvm = jvm_of(spark)
        self._jvm = jvm
        self._gateway: Any = spark.sparkContext._gateway
        self._session = java_session(spark)
        self._datasources = jvm.org.apache.spark.sql.execution.datasources
        self._schema = jvm.org.apache.spark.sql.types.DataType.fromJson(schema.json())
        given = jvm.PythonUtils.toScalaMap({"mode": "FAILFAST", **options})
        self._options = jvm.org.apache.spark.sql.catalyst.FileSourceOptions(given)
        unparted, no_filters = jvm.org.apache.spark.sql.types.StructType(), jvm.PythonUtils.toSeq(jvm.java.util.ArrayList())
        json = self._datasources.json.JsonFileFormat()
        self._facts = json.fileConstantMetadataExtractors()
        # Not the one with values of partitions: it copies every row, and so does whoever takes the rows.
        self._read = json.buildReader(
            self._session, self._schema, unparted, self._schema, no_filters, given, self._session.sessionState().newHadoopConf()
        )

    def files_of(self, batch: DataFrame, most: int) -> BatchFiles | None:
        """None where the files of a batch are not read by one scan alone, in at most so many pieces."""
        scan = only_scan(batch)
        if scan is None:
            return None
        pieces: list[Any] = []
        for piece in pieces_of(scan):
            if len(pieces) == most:
                return None
            pieces.append(piece)
        return BatchFiles(scan, pieces)

    def frame(self, batch: DataFrame, files: BatchFiles, splits: Iterable[Sequence[Split]] | None) -> DataFrame:
        """The rows of a batch; ``splits`` has what each task reads, where that is not left to Spark."""
        from pyspark.sql import DataFrame

        partitions = files.scan.filePartitions() if splits is None else self._partitions(files.pieces, splits)
        of_file = files.scan.metadataColumns()
        rows = self._datasources.FileScanRDD(self._session, self._read, partitions, self._schema, of_file, self._facts, self._options)
        schema = self._schema
        for number in range(of_file.size()):
            schema = schema.add(of_file.apply(number).name(), of_file.apply(number).dataType())
        return DataFrame(java_session(batch.sparkSession).internalCreateDataFrame(rows, schema, False), batch.sparkSession)

    def _partitions(self, pieces: Sequence[Any], splits: Iterable[Sequence[Split]]) -> Any:
        # Each question is a call into the JVM, so it is asked once for a piece, however many splits it is cut into.
        known = [_known(piece) for piece in pieces]
        found = self._jvm.java.util.ArrayList()
        for index, share in enumerate(splits):
            files = self._gateway.new_array(self._datasources.PartitionedFile, len(share))
            for place, (number, start, length) in enumerate(share):
                before, after = known[number]
                files[place] = self._datasources.PartitionedFile(*before, start, length, *after)
            found.add(self._datasources.FilePartition(index, files))
        return self._jvm.PythonUtils.toSeq(found)


class BatchFiles:
    """The pieces of files that a micro-batch reads."""

    def __init__(self, scan: Any, pieces: Sequence[Any]) -> None:
        self.scan, self.pieces = scan, pieces

    def paths(self) -> list[str]:
        return sorted({str(piece.filePath().toPath().toUri().getPath()) for piece in self.pieces})

    def splits(self) -> list[Split]:
        return [Split(number, int(piece.start()), int(piece.length())) for number, piece in enumerate(self.pieces)]


def _known(piece: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What a piece is made with, before and after its place in the file."""
    after = (piece.locations(), piece.modificationTime(), piece.fileSize(), piece.otherConstantMetadataColumnValues())
    return (piece.partitionValues(), piece.filePath()), after
