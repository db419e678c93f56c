"""Every metric of a job, declared once: what the collector gives, what docs/metrics.md says, what rules and boards may name."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

PREFIX = "windrow_"
# Not "job": Prometheus gives that label a meaning of its own, and would rename ours.
JOB = "job_name"
# Of one source: partitions beyond these have no series of their own.
MOST_PARTITIONS = 100


class Kind(Enum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True)
class Instrument:
    """``name`` is without the prefix; ``labels`` stand after that of the job. ``is_durable``: a restart does not set it back."""

    name: str
    kind: Kind
    help: str
    unit: str = ""
    labels: tuple[str, ...] = ()
    is_durable: bool = False
    group: str = ""

    @property
    def full_name(self) -> str:
        return PREFIX + self.name

    @property
    def all_labels(self) -> tuple[str, ...]:
        return (JOB, *self.labels)


INSTRUMENTS: dict[str, Instrument] = {}
_GROUP = [""]


def _counter(name: str, text: str, unit: str = "", labels: tuple[str, ...] = (), *, is_durable: bool = False) -> Instrument:
    return _declare(Instrument(name, Kind.COUNTER, text, unit, labels, is_durable, _GROUP[0]))


def _gauge(name: str, text: str, unit: str = "", labels: tuple[str, ...] = ()) -> Instrument:
    return _declare(Instrument(name, Kind.GAUGE, text, unit, labels, group=_GROUP[0]))


def _histogram(name: str, text: str, unit: str = "", labels: tuple[str, ...] = ()) -> Instrument:
    return _declare(Instrument(name, Kind.HISTOGRAM, text, unit, labels, group=_GROUP[0]))


def _declare(instrument: Instrument) -> Instrument:
    assert instrument.name not in INSTRUMENTS, instrument.name
    return INSTRUMENTS.setdefault(instrument.name, instrument)


_GROUP[0] = "The job"
BUILD_INFO = _gauge("build_info", "Always 1; says which versions run.", labels=("version", "spark", "python"))
JOB_INFO = _gauge(
    "job_info",
    "Always 1; says which pipeline the job is of (@app, else its file), the @version of that and the environment.",
    labels=("pipeline", "version", "env"),
)
JOB_STATE = _gauge("job_state", "1 for the state the job is in, 0 for the others.", labels=("state",))
STARTED = _gauge("job_start_time_seconds", "When this run of the job began, in seconds since the epoch.", "seconds")
UPTIME = _gauge("job_uptime_seconds", "How long this run has lasted.", "seconds")
LAST_COMMIT = _gauge(
    "job_last_commit_timestamp_seconds", "When the last batch of this run became durable, in seconds since the epoch.", "seconds"
)
RESTARTS = _counter("job_restarts_total", "How often the job was started again with its state.", "starts", is_durable=True)
BALANCED = _gauge("ledger_balanced", "1 while every row that came in is accounted for, 0 if one is not.")
ERRORS = _counter(
    "errors_total",
    "Failures of the job, by code of the error: transient ones, after which it began again, and permanent ones, which ended it.",
    labels=("code", "class"),
)

_GROUP[0] = "Rows by fate"
ROWS_IN = _counter("rows_in_total", "Rows that a source brought.", "rows", ("source",), is_durable=True)
ROWS_PASSED = _counter("rows_passed_total", "Rows of a source that went on to statements.", "rows", ("source",), is_durable=True)
STATEMENT_IN = _counter("statement_rows_in_total", "Rows that came to a statement.", "rows", ("statement",), is_durable=True)
STATEMENT_PASSED = _counter(
    "statement_rows_passed_total", "Rows that a statement took: aggregated, or passed on.", "rows", ("statement",), is_durable=True
)
FILTERED = _counter("rows_filtered_total", "Rows that the filter of a statement left out.", "rows", ("statement",), is_durable=True)
EMITTED = _counter(
    "rows_emitted_total",
    "Rows that a statement put out: early, final, late (corrections), change, retract; of one without groups, the label is empty.",
    "rows",
    ("statement", "emission"),
    is_durable=True,
)
REFUSED = _counter("rows_refused_total", "Rows of a statement that its output refused.", "rows", ("statement",), is_durable=True)
DEAD = _counter(
    "dead_letters_total", "Rows that were set aside, those that came once more among them.", "rows", ("by", "code"), is_durable=True
)
REPLAYED = _counter("dead_letters_replayed_total", "Dead letters that came once more.", "rows", ("by", "code"), is_durable=True)
DROPPED = _counter("dropped_events_total", "Rows that were dropped and counted.", "rows", ("by", "code"), is_durable=True)
LATE = _counter(
    "late_events_total",
    "Rows behind the watermark: corrected a window, were included in the next, are dead letters, were dropped, or only noticed.",
    "rows",
    ("by", "outcome"),
    is_durable=True,
)
VIOLATIONS = _counter(
    "allowed_lateness_violations_total", "Rows too late for every window they belong to.", "rows", ("statement",), is_durable=True
)
UNREAD = _gauge(
    "source_unread_files",
    "Files that a source went on without, because they cannot be read: their rows are in no other number.",
    "files",
    ("source",),
)

_GROUP[0] = "Batches"
BATCHES = _counter("batches_total", "Batches of this run.", "batches")
BATCH_SECONDS = _histogram("batch_duration_seconds", "How long batches take.", "seconds")
PHASE_SECONDS = _histogram("batch_phase_seconds", "How long the phases of batches take; they add up to the batch.", "seconds", ("phase",))
BATCH_ROWS = _histogram("batch_rows", "Rows in a batch.", "rows")
RETRIES = _counter("batch_retries_total", "How often the job began again after an outage.", "tries")
CHECKPOINT = _histogram("checkpoint_duration_seconds", "How long it takes to make the state of a batch durable.", "seconds")
BATCH_RUNNING = _gauge("batch_running_seconds", "How long the batch under way has taken so far; 0 between batches.", "seconds")
OPERATOR_SECONDS = _counter(
    "operator_seconds_total", "Time spent in an operator; Spark's time belongs to the one that started it.", "seconds", ("operator",)
)
OPERATOR_IN = _counter("operator_rows_in_total", "Rows that came to an operator in this run.", "rows", ("operator",))
OPERATOR_OUT = _counter("operator_rows_out_total", "Rows that an operator gave in this run.", "rows", ("operator",))

_GROUP[0] = "Event time"
LAG = _gauge(
    "watermark_lag_seconds",
    "How far the watermark of a partition is behind the arrival of its last batch.",
    "seconds",
    ("source", "partition"),
)
JOB_LAG = _gauge("job_watermark_lag_seconds", "How far the least watermark of the job is behind the arrival of its last batch.", "seconds")
IDLE = _gauge("watermark_idle_partitions", "Partitions that no longer hold the watermark back.", "partitions", ("source",))
ADVANCED = _counter(
    "watermark_advanced_seconds_total",
    "Event time that the watermark has passed in this run; its rate is 1 where the job keeps up.",
    "seconds",
)
SOURCE_LAG = _gauge("source_lag_seconds", "Age of the newest event of a source when the last batch arrived.", "seconds", ("source",))
BACKLOG = _gauge("source_backlog_rows", "Rows that are there and not read yet, where a source says so.", "rows", ("source", "partition"))
BACKLOG_FILES = _gauge("source_backlog_files", "Files that are there and not read yet, where a source says so.", "files", ("source",))
BEHIND = _gauge(
    "source_behind_seconds",
    "How long ago the end of a source was where the job has read to, where a source says so; at least, if it was not there in this run.",
    "seconds",
    ("source",),
)
BATCH_LIMIT = _gauge(
    "source_batch_limit", "Rows, or files, that the next batch takes at most, where 'batch.target' is set.", "", ("source",)
)
END_TO_END = _histogram(
    "end_to_end_seconds",
    "Seconds from the event time of an output row to its being written; of rows that come out of the driver, as those of windows do.",
    "seconds",
    ("statement",),
)

_GROUP[0] = "Windows and state"
CREATED = _counter("windows_created_total", "Windows that came to be in this run.", "windows", ("statement",))
COMPLETED = _counter("windows_completed_total", "Windows that the watermark closed in this run.", "windows", ("statement",))
PRUNED = _counter("windows_pruned_total", "Windows that were let go in this run.", "windows", ("statement",))
OPEN = _gauge("windows_held", "Windows and groups that a statement holds.", "windows", ("statement",))
WINDOW_BYTES = _gauge("window_size_bytes", "Bytes of state for each window that a statement holds, on average.", "bytes", ("statement",))
EVENT_COUNT = _histogram("window_event_count", "Rows in a window when it closes.", "rows", ("statement",))
HOT = _gauge("hot_state_size_bytes", "State in the driver's memory.", "bytes", ("statement",))
WARM = _gauge("warm_state_size_bytes", "State that the executors hold.", "bytes", ("statement",))
COLD = _gauge("cold_state_size_bytes", "Files that keep the state, on a local disk.", "bytes")
HISTORY = _gauge("history_size_bytes", "Files with what windows said, where a history is kept.", "bytes")
LIMIT_USED = _gauge("state_limit_used_ratio", "How much of a limit of the state is used; at 1 the job stops.", "ratio", ("limit",))
EVICTIONS = _counter("state_evictions_total", "Rows of state that were let go early, to stay within a limit.", "rows")

_GROUP[0] = "Outputs, systems, tables"
SINK_SECONDS = _histogram("sink_duration_seconds", "How long an output takes for a batch.", "seconds", ("sink",))
SINK_ERRORS = _counter("sink_errors_total", "Failed writes of an output, by code of the error.", labels=("sink", "code"))
BREAKER = _gauge("system_breaker_open", "1 while a system outside is not called because it failed, else 0.", labels=("system",))
SYSTEM_RETRIES = _counter("system_retries_total", "Calls to a system outside that failed and may pass.", "calls", ("system",))
TABLE_ROWS = _gauge("tables_rows", "Rows of a table that were loaded.", "rows", ("table",))
TABLE_PROGRESS = _gauge(
    "table_load_progress_ratio", "How much of a table is loaded, by its estimated size; 1 when it is whole.", "ratio", ("table",)
)
TABLE_STALE = _gauge("table_stale", "1 while the last refresh of a table failed, else 0.", labels=("table",))
TRACED_ROWS = _counter(
    "trace_rows_total", "Rows that were asked which trace they came with, while batches are traced: the first ones of each batch.", "rows"
)
WITH_CONTEXT = _counter("trace_rows_with_context_total", "Those of them that came with a trace context.", "rows")

_GROUP[0] = "The process"
HEAP = _gauge("jvm_heap_used_bytes", "Heap of Spark's driver that is in use.", "bytes")
HEAP_MAX = _gauge("jvm_heap_max_bytes", "The most that heap may grow to.", "bytes")
JVM_RESIDENT = _gauge("jvm_resident_memory_bytes", "Memory of Spark's Java process.", "bytes")
JVM_CPU = _counter("jvm_cpu_seconds_total", "Processor time of Spark's Java process.", "seconds")
