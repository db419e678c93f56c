"""What a connector's ``runtime.py`` must offer: ``open_source`` and/or ``open_sink`` with these shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from windrow.model.types import ColumnDef

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

# Columns that every source frame has beside its rows. A source gives either ``_raw`` (one undecoded record a row, STRING or
# BINARY, decoded later by the stream's format) or its declared columns already decoded; in the second case ``_bad`` (STRING) is
# NULL, or the raw text of a record that could not be decoded. ``_seq`` is anything orderable that gives the input order.
RAW = "_raw"
BAD = "_bad"
SEQ = "_seq"
PROVENANCE = ("_timestamp", "_partition", "_offset", "_topic", "_key", "_headers")


@dataclass(frozen=True)
class SourceRequest:
    """A stream to read. ``options`` holds the connector's own keys, defaults filled in, values as text."""

    name: str
    columns: tuple[ColumnDef, ...]
    options: Mapping[str, str]
    # True: take what is there and end. False: go on for ever.
    is_bounded: bool
    # True: what is there is all there will ever be.
    is_ended: bool = False
    # Where the source may keep notes of its own that outlive a run; None where nothing is kept.
    folder: str | None = None
    # True: reference data. The frame is not a stream: it holds all rows that are there now.
    is_table: bool = False


@dataclass(frozen=True)
class SourceStream:
    """A streaming frame with its columns as described above, and the number of partitions if it is fixed.

    ``format`` names the decoder for ``_raw`` (``json``); None where the declared columns are there already.
    """

    frame: DataFrame
    partitions: int | None
    format: str | None


@dataclass(frozen=True)
class SinkRequest:
    """An output to write. ``statement`` is its name; ``options`` as in SourceRequest.

    ``job`` tells the batches of one job from those of every other, and of the same job begun anew: batch 7 of a job is
    written once, and batch 7 of another is another. It stays the same over restarts.
    """

    statement: str
    options: Mapping[str, str]
    job: str = ""


@dataclass(frozen=True)
class Output:
    """The rows of one statement in one batch: in the driver (``table``) or still on the executors (``frame``), never both.

    ``columns`` are the visible ones, in order; the table or frame may have system columns beside them (``_key``,
    ``_headers``, ``_event_time``, ``_emission``, ``_revision``, ``_window_start``, ``_window_end``).
    """

    batch_id: int
    columns: tuple[str, ...]
    table: pa.Table | None = None
    frame: DataFrame | None = None
    notes: Mapping[str, str] = field(default_factory=dict)


class Sink(Protocol):
    """Writes outputs so that writing the same batch twice leaves what writing it once leaves."""

    def open(self) -> None:
        """Make ready and prove that writing is possible, before any row is read."""

    def write(self, output: Output) -> None:
        """Make the rows of one batch durable. Runs exactly one Spark action where the rows are a frame."""

    def close(self) -> None: ...


class ConnectorRuntime(Protocol):
    """The module itself."""

    def open_source(self, spark: SparkSession, request: SourceRequest) -> SourceStream: ...

    def open_sink(self, spark: SparkSession, request: SinkRequest) -> Sink: ...
