"""How an operator can do its work: one enum a choice, one member a way. The value of a member is what EXPLAIN prints."""

from __future__ import annotations

from enum import Enum


class Strategy(Enum):
    """Base of all choices. ``choice`` says what is chosen."""

    @property
    def choice(self) -> str:
        return _CHOICES[type(self)]

    @property
    def key(self) -> str:
        """For programs: the name of the way, in small letters."""
        return self.name.lower()

    def __str__(self) -> str:
        """As the record of a batch has it."""
        return f"{self.choice}: {self.key}"


class Scan(Strategy):
    """How the rows of a source are decoded."""

    COLUMNS = "columns, decoded by the source"
    ARROW_JSON = "JSON text, decoded by Arrow in Python workers"
    SPARK_JSON = "JSON text, decoded by Spark's parser"
    JSON_FILES = "JSON files, read by Spark's file reader"


class Accounting(Strategy):
    """Where rows are counted by fate, and how the watermark of a source is found."""

    IN_AGGREGATION = "in the pass that aggregates"
    WHILE_SINK_READS = "while the sink reads the rows"
    IN_DRIVER = "in the driver, where a join collects the rows"
    WITH_SOURCE = "together with those of the source"
    FROM_TABLE = "by the length of a table in the driver"
    OWN_JOB = "a Spark job of its own"


class Cache(Strategy):
    """Whether the decoded rows of a source are kept for the length of a batch."""

    NONE = "no"
    BATCH = "for the length of a batch"


class Pass(Strategy):
    """How rows reach an aggregation."""

    SOURCE = "one pass over the source, which does its accounts too"
    OWN = "a pass of its own"
    SHARED = "one pass, shared"


class Merge(Strategy):
    """Where the partial aggregates of different tasks are merged."""

    STATE = "by the state, without an exchange"
    EXCHANGE = "by the executors, after an exchange"


class Totals(Strategy):
    """Who makes running totals."""

    DRIVER = "single rows, added up in the driver"
    SPARK_WINDOW = "a window function of Spark"


class State(Strategy):
    """Who holds the state of an operator."""

    DRIVER = "in the driver"
    EXECUTORS = "on the executors, in buckets"


class Finish(Strategy):
    """How emissions become output rows."""

    RENAME = "columns are renamed in the driver"
    SPARK_SELECT = "a Spark job evaluates HAVING and SELECT"


class Projection(Strategy):
    """How rows are filtered and projected."""

    RENAME = "columns are renamed in the driver"
    SPARK_SELECT = "part of the Spark job that reads the rows"


class Over(Strategy):
    """How OVER calls are answered."""

    EMISSION = "a window function over the rows that are emitted together"
    ARRIVAL_ORDER = "a window function in arrival order"
    PAIRS = "each row is paired with those that arrived before it"


class Lookup(Strategy):
    """How tables are looked up."""

    BROADCAST = "a broadcast join"
    BROADCAST_AND_RETRY = "a broadcast join; rows that find nothing are kept and tried again"
    SUBQUERY = "a subquery of Spark over the tables"


class Sides(Strategy):
    """How the two sides of a join of streams reach the driver, where they are joined."""

    COLLECTED_AT_ONCE = "both sources are collected at the same time"
    COLLECTED_ONE = "one side is collected while it is read, the other in a Spark job of its own"
    COLLECTED_IN_TURN = "each side in a Spark job of its own"


class RowHandling(Strategy):
    """What an operator does with rows that it does not compute."""

    GENERATE = "a generator of Spark"
    UNNEST = "rows are taken out of the windows that hold them, in the driver"
    PASS_ON = "rows are passed on as they are"
    UNION = "a union of Spark, by name"
    JUDGE_IN_DRIVER = "each is judged by the constraints of its stream; they stay in the driver"
    JUDGE_ON_EXECUTORS = "each is judged by the constraints of its stream, and kept for the length of a batch"
    LATEST = "the latest row of each key, in the driver"


class Load(Strategy):
    """When reference data is loaded."""

    AT_START = "before the first row is read"
    REFRESHED = "before the first row is read, and again what has changed"


class Sink(Strategy):
    """How a sink gets its rows."""

    TABLE = "a table in the driver"
    FRAME = "rows on the executors"
    COUNTED_FRAME = "rows on the executors, counted on their way"
    COLLECTED = "a table in the driver, written by a thread of its own"


_CHOICES: dict[type[Strategy], str] = {
    Scan: "scan",
    Accounting: "accounting",
    Cache: "cache",
    Pass: "pass",
    Merge: "merge",
    Totals: "running totals",
    State: "state",
    Finish: "finish",
    Projection: "projection",
    Over: "over",
    Lookup: "lookup",
    Sides: "sides",
    RowHandling: "rows",
    Load: "load",
    Sink: "sink",
}
