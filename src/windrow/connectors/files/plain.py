"""Files of JSON lines whose every line is one object without another in it: Spark's reader of JSON files means the same by them as we do.

That reader takes two thirds of the time of any way that goes by the text of each line. But it passes over what stands behind the first
object of a line, and takes an array for several rows. So it reads the files of a micro-batch, and whether it may have is told by their
bytes, meanwhile. Where not, the batch is read by its text.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from windrow.connectors.files.numbers import file_scan, files_of
from windrow.connectors.files.shares import even_partitions
from windrow.connectors.runtime import Quick, QuickRows, SourceRequest, SourceStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_OPEN, _CLOSE, _BREAK, _NUL = b"{}\n\x00"
# Each piece of a file is asked for by itself: a batch of more of them is read by its text.
_MOST_PIECES = 64
_ON_THIS_MACHINE = "file:"
# Stated, because a session may say otherwise and then rows would be missing without a word.
WHOLE_FILES = {"ignoreCorruptFiles": "false"}
# What the text of a batch is read with, where its order is asked for.
_OF_FILE = (("file_block_start", "long"), ("file_modification_time", "timestamp"))


def quick_reader(spark: SparkSession, request: SourceRequest, folder: str, stream: SourceStream) -> Quick | None:
    """The other way to the rows of a stream of text; None where the driver may not see the files that executors read.

    ``stream.later`` has SQL of all that is known of where a row stands, by what Spark knows of its file.
    """
    is_here = (spark.sparkContext.master or "").startswith("local") and folder.startswith(_ON_THIS_MACHINE)
    return _JsonFiles(spark, request, stream).quick if is_here else None


class _JsonFiles:
    """Spark's reader of JSON files, made once; the files of a micro-batch are those that its text would have been read from.

    Lines are counted as the reader of text counts them, because none of them is blank.
    """

    def __init__(self, spark: SparkSession, request: SourceRequest, stream: SourceStream) -> None:
        from pyspark.sql.types import StructType

        declared = ", ".join(f"`{column.name.replace('`', '``')}` {column.type}" for column in request.columns)
        schema = StructType.fromDDL(declared)
        assert isinstance(schema, StructType)
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._gateway: Any = spark.sparkContext._gateway
        self._cores = spark.sparkContext.defaultParallelism
        session: Any = spark._jsparkSession
        self._datasources = jvm.org.apache.spark.sql.execution.datasources
        self._session = session
        self._schema = jvm.org.apache.spark.sql.types.DataType.fromJson(schema.json())
        # It stops at what it cannot read. To note that instead would copy every row once more.
        options = jvm.PythonUtils.toScalaMap({"mode": "FAILFAST", **WHOLE_FILES})
        self._options = jvm.org.apache.spark.sql.catalyst.FileSourceOptions(options)
        unparted, no_filters = jvm.org.apache.spark.sql.types.StructType(), jvm.PythonUtils.toSeq(jvm.java.util.ArrayList())
        json = self._datasources.json.JsonFileFormat()
        self._facts = json.fileConstantMetadataExtractors()
        # Not the one with values of partitions: it copies every row, and so does whoever takes the rows.
        self._read = json.buildReader(
            session, self._schema, unparted, self._schema, no_filters, options, session.sessionState().newHadoopConf()
        )
        for name, type_ in _OF_FILE if request.needs_order else ():
            schema = schema.add(name, type_)
        frame = spark.createDataFrame([], schema)
        self.quick = Quick(SourceStream(frame, 1, None, stream.later, stream.fleeting), self.rows_of)

    def rows_of(self, batch: DataFrame) -> QuickRows | None:
        from pyspark.sql import DataFrame

        scan = file_scan(batch)
        pieces = [] if scan is None else list(islice(files_of(scan), _MOST_PIECES + 1))
        if scan is None or len(pieces) > _MOST_PIECES:
            return None
        paths = sorted({str(piece.filePath().toPath().toUri().getPath()) for piece in pieces})
        pool = ThreadPoolExecutor(1, "windrow-lines")
        is_plain = pool.submit(lambda: all(map(is_plain_file, paths)))
        pool.shutdown(wait=False)
        partitions = even_partitions(self._jvm, self._gateway, pieces, self._cores) or scan.filePartitions()
        of_file = scan.metadataColumns()
        files = self._datasources.FileScanRDD(self._session, self._read, partitions, self._schema, of_file, self._facts, self._options)
        schema = self._schema
        for number in range(of_file.size()):
            schema = schema.add(of_file.apply(number).name(), of_file.apply(number).dataType())
        rows = batch.sparkSession._jsparkSession.internalCreateDataFrame(files, schema, False)
        return QuickRows(DataFrame(rows, batch.sparkSession), is_plain.result)


def is_plain_file(path: str) -> bool:
    with pa.memory_map(path) as file:
        return is_plain(file.read_buffer())


def is_plain(data: pa.Buffer) -> bool:
    """Whether each line begins with a brace, and ends with the only closing one in it.

    >>> is_plain(pa.py_buffer(b'{"a": 1}\\n{"a": [2]}\\n'))
    True
    >>> is_plain(pa.py_buffer(b'{"a": 1}\\n{"a": 2} {"a": 3}\\n'))
    False
    """
    text = pl.Series(pa.Array.from_buffers(pa.uint8(), data.size, [None, data]))
    breaks = (text == _BREAK).arg_true()
    if len(breaks) and breaks[-1] == len(text) - 1:
        text, breaks = text.head(len(text) - 1), breaks.head(len(breaks) - 1)
    if not len(text):
        return True
    if text[0] != _OPEN or text[-1] != _CLOSE:
        return False
    stands_between = (text.gather(breaks - 1) == _CLOSE).all() and (text.gather(breaks + 1) == _OPEN).all()
    # Lines with this character may be taken for text of another encoding.
    return bool(stands_between) and (text == _CLOSE).sum() == len(breaks) + 1 and not (text == _NUL).any()
