"""Files of JSON lines whose every line is one object without another in it: Spark's reader of JSON files means the same by them as we do.

That reader takes two thirds of the time of any way that goes by the text of each line. But it passes over what stands behind the first
object of a line, and takes an array for several rows. So it reads the files of a micro-batch, and whether it may have is told by their
bytes, meanwhile. Where not, the batch is read by its text.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from windrow.connectors.files.split_balancing import even_splits
from windrow.connectors.runtime import SourceRequest, SourceStream, SpeculativeRows, SpeculativeSource
from windrow.spark.internals.fast_paths import JSON_SCAN, FastPaths, fast_paths_of
from windrow.spark.internals.java_errors import may_be_misfit
from windrow.spark.internals.json_scan import JsonReader

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


def speculative_source(spark: SparkSession, request: SourceRequest, folder: str, stream: SourceStream) -> SpeculativeSource | None:
    """The other way to the rows of a stream of text; None where the driver may not see the files that executors read, or Spark's reader
    cannot be had.

    ``stream.lazy_columns`` has SQL of all that is known of where a row stands, by what Spark knows of its file.
    """
    is_here = (spark.sparkContext.master or "").startswith("local") and folder.startswith(_ON_THIS_MACHINE)
    if not is_here:
        return None
    paths = fast_paths_of(spark)
    files = paths.attempt(JSON_SCAN, lambda: _JsonFiles(spark, request, stream, paths), lambda: None)
    return None if files is None else files.speculative


class _JsonFiles:
    """Spark's reader of JSON files, made once; the files of a micro-batch are those that its text would have been read from.

    Lines are counted as the reader of text counts them, because none of them is blank.
    """

    def __init__(self, spark: SparkSession, request: SourceRequest, stream: SourceStream, paths: FastPaths) -> None:
        from pyspark.sql.types import StructType

        declared = ", ".join(f"`{column.name.replace('`', '``')}` {column.type}" for column in request.columns)
        schema = StructType.fromDDL(declared)
        assert isinstance(schema, StructType)
        self._paths = paths
        self._cores = spark.sparkContext.defaultParallelism
        self._reader = JsonReader(spark, schema, WHOLE_FILES)
        for name, type_ in _OF_FILE if request.needs_order else ():
            schema = schema.add(name, type_)
        frame = spark.createDataFrame([], schema)
        self.speculative = SpeculativeSource(SourceStream(frame, 1, None, stream.lazy_columns, stream.task_local_columns), self.rows_of)

    def rows_of(self, batch: DataFrame) -> SpeculativeRows | None:
        return self._paths.attempt(JSON_SCAN, lambda: self._rows_of(batch), lambda: None)

    def _rows_of(self, batch: DataFrame) -> SpeculativeRows | None:
        files = self._reader.files_of(batch, _MOST_PIECES)
        if files is None:
            return None
        paths = files.paths()
        pool = ThreadPoolExecutor(1, "windrow-lines")
        is_plain = pool.submit(lambda: all(map(is_plain_file, paths)))
        pool.shutdown(wait=False)
        frame = self._reader.frame(batch, files, even_splits(files.splits(), self._cores))
        return SpeculativeRows(frame, is_plain.result, self._failed)

    def _failed(self, error: Exception) -> None:
        """A row that cannot be read is nothing to remember; a reader that cannot be called is."""
        if may_be_misfit(error):
            self._paths.switch_off(JSON_SCAN, error)


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
