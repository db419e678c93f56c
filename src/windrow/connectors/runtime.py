"""The interface of connectors: the class that each has, what it is asked for, and the shapes of rows that come and go."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from windrow.errors import WindrowError
from windrow.model import row_protocol
from windrow.model.types import ColumnDef

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

# Columns that every source frame has beside its rows. A source gives either ``_raw`` (one undecoded record a row, STRING or
# BINARY, decoded later by the stream's format) or its declared columns already decoded; in the second case ``_bad`` (STRING) is
# NULL, or the raw text of a record that could not be decoded. ``_seq`` is anything orderable that gives the input order.
# ``_original`` may stand beside ``_raw`` where that is not what came in, but made from it: dead letters keep the original.
RAW = "_raw"
ORIGINAL = "_original"
BAD = "_bad"
SEQ = row_protocol.SEQ
# Rows that a sink is given say by this column whether they take an earlier one back.
EMISSION, RETRACT = row_protocol.EMISSION, "retract"
# Stands beside ``_topic`` where that is long and the same for many rows: a number for each, which ``SourceStream.topics`` spells out.
TOPIC_NUMBER = "_topic_number"
PROVENANCE = ("_timestamp", "_partition", "_offset", "_topic", "_key", "_headers")
# SQL of what a source of one partition, without keys and headers, knows of where its rows came from; the engine adds the arrival time.
NO_PROVENANCE = {
    "_timestamp": "CAST(NULL AS TIMESTAMP)",
    "_partition": "0",
    "_key": "CAST(NULL AS STRING)",
    "_headers": "CAST(NULL AS MAP<STRING, STRING>)",
}


def _unseen(_rows: int, _total: int | None) -> None:
    """Nobody watches the load."""


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
    # False: nobody looks at the input order, and ``_seq`` may be anything.
    needs_order: bool = True
    # The name of the job that reads.
    job: str = ""
    # Reference data only: the offset that the last load gave, to be told what has changed since. None: all there is.
    since: str | None = None
    # Reference data only: told of rows as they come, and of how many there may be in all.
    progress: Callable[[int, int | None], None] = _unseen
    # Set when the job is to stop: whoever waits for an outside system gives up.
    stopping: threading.Event = field(default_factory=threading.Event)


class Reading(Protocol):
    """What a source makes of the offsets that Spark notes for each batch: how far the source was read, in Spark's own spelling."""

    def partitions_at(self, offset: Mapping[str, Any]) -> tuple[int, ...]:
        """The partitions that there are by then, as the connector's ``partition_sql`` numbers them."""

    def rows(self, since: Mapping[str, Any], offset: Mapping[str, Any]) -> dict[int, int]:
        """How many records lie between two offsets, by partition."""

    def committed(self, offset: Mapping[str, Any]) -> None:
        """A batch is durable up to here. Must neither fail nor wait for anybody."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class SourceStream:
    """A streaming frame with its columns as described above, and its partitions: how many, or which, if that is known.

    ``format`` names the decoder for ``_raw`` (``json``); None where the declared columns are there already.
    ``lazy_columns`` has SQL for those of its columns that need not be computed before a row is handed over: what Spark hands over is
    copied row by row, so a frame should have few and narrow columns. It may name the columns of the frame (but for ``_raw``),
    and those of its own that stand before. ``task_local_columns`` has SQL of what is known only while a task reads the row and is
    asked for right after it was handed over; ``lazy_columns`` may name it. ``topics`` gives what the numbers in ``_topic_number`` of a
    micro-batch stand for.
    ``speculative`` is another way to rows that are text.

    The rest is of reference data. ``offset`` is where the next refresh goes on (None: it can only be loaded whole again);
    ``is_increment`` says that the frame holds only what came since the offset that was asked for, ``is_unchanged`` that nothing did.
    ``gone`` names rows that an increment takes back, by columns that they have; rows of the frame came after.
    """

    frame: DataFrame
    partitions: int | tuple[int, ...] | None
    format: str | None
    lazy_columns: Mapping[str, str] = field(default_factory=dict)
    task_local_columns: Mapping[str, str] = field(default_factory=dict)
    topics: Callable[[DataFrame], Mapping[int, str]] | None = None
    # Where there is ``_original``: what makes ``_raw`` of it, for a row that comes once more.
    decode: Callable[[Column], Column] | None = None
    reading: Reading | None = None
    speculative: SpeculativeSource | None = None
    offset: str | None = None
    is_increment: bool = False
    is_unchanged: bool = False
    gone: pa.Table | None = None


@dataclass(frozen=True)
class SpeculativeRows:
    """The rows of a micro-batch, decoded. They count only if ``holds``, which may wait. One that cannot be read fails what computes it,
    and ``failed`` is told.
    """

    frame: DataFrame
    holds: Callable[[], bool]
    failed: Callable[[Exception], None]


@dataclass(frozen=True)
class SpeculativeSource:
    """A faster way to the rows of a stream than by their text, good for most batches.

    ``stream`` says what its frames look like. ``rows_of`` gives that of a micro-batch, or None where there is no such way.
    """

    stream: SourceStream
    rows_of: Callable[[DataFrame], SpeculativeRows | None]


@dataclass(frozen=True)
class SinkRequest:
    """An output to write. ``statement`` is its name; ``options`` as in SourceRequest.

    ``job`` tells the batches of one job from those of every other, and of the same job begun anew: batch 7 of a job is
    written once, and batch 7 of another is another. It stays the same over restarts. ``columns`` are the visible ones with
    their types, as far as they are known before Spark analyses the query; ``key`` those that tell one row from another.
    """

    statement: str
    options: Mapping[str, str]
    job: str = ""
    columns: tuple[ColumnDef, ...] = ()
    key: tuple[str, ...] = ()
    # Set when the job is to stop: whoever waits for an outside system gives up.
    stopping: threading.Event = field(default_factory=threading.Event)


class RowCounter(Protocol):
    """Counts the rows of a frame while a sink reads them, so that they need not be read once more for the ledger.

    The frame then also has the rows that are not to be written. A sink with ``counts_rows = True`` reads by
    ``output_batches``, which asks for the columns of the counter beside its own and hands them over.
    """

    columns: tuple[str, ...]
    # The column that is true for rows that are to be written.
    passed: str

    def begin(self) -> None:
        """All rows are read, perhaps not for the first time."""

    def take(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Count some rows. Gives those that are to be written, without the columns of the counter."""

    def close(self) -> None:
        """All rows were counted. Raises where the batch must not be written."""


class WriteTrace(Protocol):
    """The trace that a batch is written in, for sinks that hand trace contexts on to whoever reads."""

    # The header ``traceparent`` of a reader that goes on from this write.
    traceparent: str
    # Whether rows are in the traces that they came with; else that header of theirs is a header like any other.
    follows: bool

    def see(self, headers: Iterable[str | bytes | None], window_starts: Sequence[int | None] = (), /) -> None:
        """Values of that header in rows that are written, with the starts of the windows that these are of (in microseconds), if they are:
        the trace links to whoever produced them.
        """


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
    # Only for sinks that count rows.
    row_counter: RowCounter | None = None
    # None where the batch is not traced.
    trace: WriteTrace | None = None


@dataclass(frozen=True)
class Refused:
    """A row that the system outside does not take, because of what it holds."""

    row: Mapping[str, Any]
    why: str


class Sink(ABC):
    """Writes outputs so that writing the same batch twice leaves what writing it once leaves."""

    # Whether it reads a frame by ``output_batches`` and hands the columns of the counter over (see ``RowCounter``).
    counts_rows: bool = False

    def open(self) -> None:
        """Make ready and prove that writing is possible, before any row is read."""

    @abstractmethod
    def write(self, output: Output) -> Sequence[Refused] | None:
        """Make the rows of one batch durable. Runs exactly one Spark action where the rows are a frame.

        Gives the rows that are refused, where the options say to go on without them; the same if the batch is written again.
        """

    def close(self) -> None:
        """Let go of what ``open`` took."""


@dataclass(frozen=True)
class WindowsAhead:
    """What a source last saw beyond the windows in work: those that can be taken, those that cannot yet; rows that came late."""

    safe: int
    waiting: int
    late_rows: int


@dataclass(frozen=True)
class SourceReport:
    """What a source tells of itself beside its rows: how many windows are ahead, where it hands over whole ones, and the files that it
    goes on without, with the reasons.
    """

    ahead: WindowsAhead | None = None
    unread: Mapping[str, str] = field(default_factory=dict)


class Connector:
    """What a connector does. ``ConnectorSpec.runtime`` names its class; the engine makes one of it without arguments.

    A connector overrides ``open_source``, ``open_sink`` or both, as its spec says. The rest has defaults.
    """

    def open_source(self, spark: SparkSession, request: SourceRequest) -> SourceStream:
        """A stream, or with ``request.is_table`` all rows that are there now."""
        raise NotImplementedError(f"{type(self).__name__} has a source by its spec and does not open one")

    def open_sink(self, spark: SparkSession, request: SinkRequest) -> Sink:
        raise NotImplementedError(f"{type(self).__name__} has a sink by its spec and does not open one")

    def explain_failure(self, error: Exception) -> WindrowError | None:
        """What a failure of Spark's means, where this connector is the cause; None where it is not."""
        return None

    def watermark_of(self, offset: Mapping[str, Any]) -> int | None:
        """For a source that states its watermark itself (``ConnectorSpec.watermark``): what it is, in microseconds, at an offset."""
        return None

    def report(self, folder: str) -> SourceReport:
        """What a source tells of itself, by the notes that it keeps in its folder (``SourceRequest.folder``)."""
        return SourceReport()

    def forget_after(self, request: SinkRequest, batch_id: int) -> None:
        """The job goes back to a batch: what the sink holds of later ones is taken back, or at least does not count as written."""

    def misfit(self, request: SinkRequest) -> str | None:
        """What the system outside would refuse of an output, as a sentence, asked before anything stops. Writes nothing.

        None where all fits, where nothing is known of it, and where the system does not answer.
        """
        return None

    def what_stays(self, request: SinkRequest) -> str | None:
        """What ``forget_after`` cannot take back, as a sentence."""
        return None
