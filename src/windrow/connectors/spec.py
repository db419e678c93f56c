"""What a connector states about itself: its options, by which every WITH list is checked and documented."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from windrow.model.types import ColumnDef


class OptionKind(Enum):
    TEXT = "text"
    INTEGER = "whole number"
    NUMBER = "number"
    BOOLEAN = "true or false"
    DURATION = "duration"
    TIME = "time (ISO 8601)"
    ROW_LIMIT = "number of rows or a share of them, with or without a span (100, 5%, 5% per 10m)"
    CHOICE = "one of"
    PATH = "path"


@dataclass(frozen=True)
class OptionSpec:
    """One WITH key. A key that ends in ``.*`` stands for every key with that prefix."""

    key: str
    kind: OptionKind
    doc: str
    default: str | None = None
    choices: tuple[str, ...] = ()
    is_required: bool = False
    # Another key that may be given in the place of this one.
    alternative: str | None = None
    # What is taken where neither this nor the alternative is given, if that may surprise.
    left_out: str = ""
    # A value that makes sense, for hints and for the documentation, whose examples are checked.
    example: str = field(kw_only=True)
    # A key with the prefix of a key that ends in ``.*``, to go with the example.
    example_key: str | None = None
    # Never printed: passwords and the like.
    is_secret: bool = False
    # A job with state may go on with another value.
    may_change: bool = False

    @property
    def shown(self) -> str:
        """The example as it stands in a WITH list."""
        value = self.example.replace("'", "''")
        return f"'{self.example_key or self.key}' = '{value}'"


def _by_partition(_options: Mapping[str, str]) -> str:
    return "_partition"


# What telemetry is.
SIGNALS = ("logs", "traces", "metrics")
# Of outputs that talk to a system outside, which may be away or refuse a row.
FAILURE_POLICY = OptionSpec(
    "failure.policy",
    OptionKind.CHOICE,
    "what happens when writing fails: tried again while that may help (`retry`), never (`fail`), "
    "or tried again and rows set aside that are refused for what they hold (`dead_letter`)",
    default="retry",
    choices=("retry", "fail", "dead_letter"),
    example="dead_letter",
)


# Of sources that can be asked for less: how long their batches are to last.
BATCH_TARGET = OptionSpec(
    "batch.target",
    OptionKind.DURATION,
    "how long a batch is to last: while there is much to read, each takes more or less than the one before until it does",
    example="2s",
    may_change=True,
)


@dataclass(frozen=True)
class BatchCap:
    """What a batch takes of a source at most: the option that says so, in rows or in files, ``most`` where it does not, and what a batch
    that is to last for a given time begins with."""

    option: str
    first: int
    most: int | None = None
    is_files: bool = False


@dataclass(frozen=True)
class SourceShape:
    """How a source hands its rows over: as text of a format, to be decoded by the engine, or (None) as columns that it decoded itself.

    ``keeps_original``: the text is made of what came in, which is what dead letters keep. ``has_fast_scan``: most batches can be read in
    a faster way than by their text, where the driver sees what the executors read.
    """

    text_format: str | None = "json"
    keeps_original: bool = False
    has_fast_scan: bool = False


@dataclass(frozen=True)
class Place:
    """Something outside that others may read or write, too: a topic, a table, a folder.

    Named as OpenLineage names it, by which files that share one are linked. A pattern stands for every name that it fits.
    """

    namespace: str
    name: str
    is_pattern: bool = False


@dataclass(frozen=True)
class Messages:
    """What the rows of a sink become, as traces tell it: messages of a system, by the name that OpenTelemetry has for it."""

    system: str
    destination: str


def nowhere(_options: Mapping[str, str]) -> tuple[Place, ...]:
    """The places of a connector whose rows are nobody else's: made up, shown, or of a test."""
    return ()


def _no_messages(_options: Mapping[str, str]) -> Messages | None:
    return None


# What may tell where something is, where a connector does not say how its places are called.
_TELLING = ("endpoint", "url", "path", "topic", "table", "name")


def _json_text(_options: Mapping[str, str]) -> SourceShape:
    return SourceShape()


def _counts_nothing(_options: Mapping[str, str]) -> bool:
    return False


def _no_changes(_options: Mapping[str, str]) -> ColumnDef | None:
    return None


def _no_modules(_options: Mapping[str, str]) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class ConnectorSpec:
    """``source`` or ``sink`` is None where the connector has no such side. ``runtime`` names the class that does the work: module:Class."""

    name: str
    summary: str
    runtime: str
    source: tuple[OptionSpec, ...] | None = None
    sink: tuple[OptionSpec, ...] | None = None
    # A source of this connector has exactly this many partitions; None where only the running system knows.
    source_partitions: int | None = 1
    # Whether CREATE TABLE can load all rows of a source at once.
    is_loadable: bool = False
    # SQL of the whole number that tells the partitions of a source with these options apart: each has a clock of its own.
    partition_sql: Callable[[Mapping[str, str]], str] = _by_partition
    # Whether a sink shows rows to somebody in the order they came in, or keeps the last of several with one key.
    is_ordered: bool = False
    # Whether CREATE STREAM can read from it without end.
    is_streamable: bool = True
    # The columns of a source with these options, where they are known without a list; with one, the list chooses from them.
    columns: Callable[[Mapping[str, str]], tuple[ColumnDef, ...]] | None = None
    # The column that is the event time where no option names another; it is there whether it is listed or not.
    event_time: str | None = None
    # What the watermark is after a batch, where the source states it itself (``watermark_of`` in its runtime).
    watermark: str | None = None
    # How a source with these options hands its rows over.
    source_shape: Callable[[Mapping[str, str]], SourceShape] = _json_text
    # Whether a sink with these options counts the rows that it reads from executors of this machine.
    counts_rows: Callable[[Mapping[str, str]], bool] = _counts_nothing
    # What the Python of Spark's workers needs for a source with these options.
    worker_modules: Callable[[Mapping[str, str]], tuple[str, ...]] = _no_modules
    # How a source can be asked for less in a batch; None where it cannot.
    batch_cap: BatchCap | None = None
    # The group of ``jars.lock.toml`` that Spark needs for it on a cluster.
    jars: str | None = None
    # The column that says which change a record is, where records are changes of rows: every row has it, listed or not.
    change_column: Callable[[Mapping[str, str]], ColumnDef | None] = _no_changes
    # Whether a sink talks to a system that may be away: its outputs take the options of ``outage_options``.
    is_outside: bool = True
    # Whether rows of a sink carry headers, beside their columns.
    has_headers: bool = False
    # What is outside that a source or sink with these options reads or writes; None: see ``places_of``.
    places: Callable[[Mapping[str, str]], tuple[Place, ...]] | None = None
    # What a sink with these options makes of its rows, if that is messages.
    messages: Callable[[Mapping[str, str]], Messages | None] = _no_messages
    # Why two outputs cannot write to one place, as the end of a sentence about one of them; None where they can.
    why_alone: str | None = None
    # Whether what a sink writes to has columns of its own: a new one of a statement may not be there.
    has_target_columns: bool = False
    # Whether a sink only keeps its rows in this process: nothing is lost without it where somebody else keeps them.
    keeps_rows: bool = False

    def places_of(self, options: Mapping[str, str]) -> tuple[Place, ...]:
        """The places of a source or sink. Where the connector does not say, whatever its options tell, but for secrets."""
        if self.places is not None:
            return self.places(options)
        secret = {option.key for option in (*(self.source or ()), *(self.sink or ())) if option.is_secret}
        told = [options[key] for key in _TELLING if options.get(key) and key not in secret]
        return (Place(self.name, "#".join(told)),)
