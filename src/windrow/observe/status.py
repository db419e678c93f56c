"""What a running job shows of itself at any moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from windrow.observe.distribution import Distribution
from windrow.observe.ledger import Ledger
from windrow.observe.row_metrics import MetricTotal, totals_json
from windrow.resilience import SystemState

UP, AWAY, SLOW = "up", "away", "slow"
STARTING, RUNNING, WAITING, STOPPED, ENDED, FAILED = "starting", "running", "waiting", "stopped", "ended", "failed"


@dataclass(frozen=True)
class TableLoad:
    """A table on its way in. ``total`` is an estimate, None where the source has none."""

    table: str
    rows: int
    total: int | None
    seconds: float
    is_done: bool = False

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds if self.seconds > 0 else 0.0

    @property
    def seconds_left(self) -> float | None:
        if self.total is None or self.rows >= self.total or not self.rows_per_second:
            return None
        return (self.total - self.rows) / self.rows_per_second


DRIVER, EXECUTORS = "driver", "executors"


@dataclass(frozen=True)
class StateSize:
    """What an operator holds: rows, bytes of memory, and groups or windows that are open.

    Of these, ``closed`` are past the watermark and only kept for late rows; None where that is not known without another job.
    """

    rows: int = 0
    bytes: int = 0
    windows: int = 0
    home: str = DRIVER
    closed: int | None = 0


@dataclass(frozen=True)
class OperatorStatus:
    """One operator: how it works and why, what went through it in the last batch and in the run, and what it holds.

    ``strategies`` are those of the plan, ``taken`` the ways that it went in the run, as it noted them itself.
    Seconds are those of its own calls. Spark runs several operators as one job, whose time belongs to the one that started it. A number
    is None where it is not known without another job.
    """

    name: str
    operator: str
    strategies: tuple[Mapping[str, Any], ...] = ()
    taken: tuple[str, ...] = ()
    rows_in: int | None = None
    rows_out: int | None = None
    bytes_out: int | None = None
    seconds: float = 0.0
    total_rows_in: int | None = None
    total_rows_out: int | None = None
    total_seconds: float = 0.0
    state: StateSize = StateSize()


@dataclass(frozen=True)
class WindowCounts:
    """Windows of telemetry with data that a source could take when it last looked, and that it must wait for; rows that came late."""

    source: str
    safe: int
    waiting: int
    late_rows: int


@dataclass(frozen=True)
class PartitionStatus:
    """One partition of a source: its greatest event time, the watermark that follows, and when a row of it last arrived."""

    partition: int
    reached: int | None
    watermark: int | None
    seen_at: int
    is_idle: bool


@dataclass(frozen=True)
class SourceStatus:
    """``arrived_at`` is when the last batch did. ``backlog`` has the rows by partition that are not read yet, ``backlog_files`` the files.

    ``behind_seconds`` is how long ago the end of the source was where it has been read to: at least so long, where the run has not been
    there yet. None where the source does not say. ``batch_limit`` is how much the next batch takes, where that is a matter of time.
    """

    source: str
    partitions: tuple[PartitionStatus, ...] = ()
    arrived_at: int | None = None
    backlog: Mapping[str, int] | None = None
    backlog_files: int | None = None
    behind_seconds: float | None = None
    batch_limit: int | None = None

    @property
    def newest(self) -> int | None:
        return max((one.reached for one in self.partitions if one.reached is not None), default=None)


@dataclass(frozen=True)
class WindowTotals:
    """Windows of a statement since the run began: those that came to be, that the watermark closed, and that were let go."""

    statement: str
    created: int
    completed: int
    pruned: int


@dataclass(frozen=True)
class Measured:
    """A distribution of the run: the name of its instrument, and its labels but for the job."""

    instrument: str
    labels: tuple[str, ...]
    values: Distribution


@dataclass(frozen=True)
class JobAbout:
    """What a job is a part of: the pipeline (@app, else the name of the file), its @version, the environment of windrow.yaml.

    ``starts`` counts how often the job was started with its state, this time included.
    """

    pipeline: str = ""
    version: str = ""
    environment: str = ""
    spark: str = ""
    starts: int = 1


TRANSIENT, PERMANENT = "transient", "permanent"


@dataclass(frozen=True)
class RunCounts:
    """What happened since the run began. ``errors`` are by code and class: what the job got over, and what ended it.

    ``sink_errors`` are by statement and code. ``traced_rows`` were asked for the trace they came with, and ``with_context`` had one.
    """

    batches: int = 0
    retries: int = 0
    evicted: int = 0
    watermark_advanced: float = 0.0
    errors: Mapping[tuple[str, str], int] = field(default_factory=dict)
    sink_errors: Mapping[tuple[str, str], int] = field(default_factory=dict)
    traced_rows: int = 0
    with_context: int = 0


@dataclass(frozen=True)
class JavaUse:
    """What Spark's Java process uses. None where it cannot be asked."""

    heap_bytes: int | None = None
    heap_max_bytes: int | None = None
    resident_bytes: int | None = None
    cpu_seconds: float | None = None


@dataclass(frozen=True)
class UnreadFile:
    """A file that a source went on without, because it cannot be read. Nobody knows how many rows it has."""

    source: str
    path: str
    why: str


@dataclass(frozen=True)
class FastPath:
    """A way to run faster by what Spark does not promise; ``instead`` is what is done without. ``why_off`` is None while it is in use."""

    name: str
    speeds_up: str
    instead: str
    why_off: str | None


@dataclass(frozen=True)
class Holder:
    """What holds the watermark back: the partition of a source that has come least far. ``reached`` is None while it has sent nothing.

    ``behind_seconds`` is how much further the furthest partition of all sources has come.
    """

    source: str
    partition: int | None
    reached: int | None
    behind_seconds: float


@dataclass(frozen=True)
class OutputStatus:
    """An output whose rows need not wait for its system. ``since`` (seconds since the epoch) is when it was found away or slow.

    What waits is in the state folder; ``oldest`` is when the oldest of it was put there. Rows are counted since the first batch of the job.
    """

    statement: str
    connector: str
    policy: str
    state: str = UP
    since: float | None = None
    error: str | None = None
    waiting_batches: int = 0
    waiting_rows: int = 0
    waiting_bytes: int = 0
    oldest: float | None = None
    spilled: int = 0
    failed_over: int = 0
    dropped: int = 0


@dataclass(frozen=True)
class JobStatus:
    """Times are microseconds since the epoch. ``lag_seconds`` is how far the watermark is behind the last batch's arrival: large where the
    data are old, however fast they are processed. How long a batch takes is ``batch_seconds``.

    ``has_ended``: the input was declared ended, and every window is closed. ``held_by`` names what holds the watermark back, if anything.

    ``sink_seconds`` is how long each output took in the last batch, by statement: reading waits for the slowest. ``systems`` are the
    outside systems that this process talks to; while a job waits for one, ``error`` says why.
    """

    job: str
    state: str
    batch_id: int = -1
    rows_in: int = 0
    rows_per_second: float = 0.0
    watermark: int | None = None
    lag_seconds: float | None = None
    open_windows: int = 0
    state_bytes: int = 0
    late: int = 0
    dead_letters: int = 0
    emitted: int = 0
    batch_seconds: float = 0.0
    sink_seconds: Mapping[str, float] = field(default_factory=dict)
    systems: tuple[SystemState, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)
    error: str | None = None
    # Tables whose last refresh failed, with the reason: what was loaded before is still in force.
    stale_tables: Mapping[str, str] = field(default_factory=dict)
    windows: tuple[WindowCounts, ...] = ()
    operators: tuple[OperatorStatus, ...] = ()
    # Seconds of the last batch by phase: plan, read, transform, aggregate, step, write, dead_letters, commit. They add up to its seconds.
    phases: Mapping[str, float] = field(default_factory=dict)
    total_phases: Mapping[str, float] = field(default_factory=dict)
    has_ended: bool = False
    held_by: Holder | None = None
    fast_paths: tuple[FastPath, ...] = ()
    sources: tuple[SourceStatus, ...] = ()
    tables: tuple[TableLoad, ...] = ()
    window_totals: tuple[WindowTotals, ...] = ()
    counts: RunCounts = RunCounts()
    java: JavaUse | None = None
    # Seconds since the epoch. ``committed_at`` is of the last batch of this run, ``batch_since`` of the batch that is under way.
    started_at: float | None = None
    committed_at: float | None = None
    batch_since: float | None = None
    ended_at: float | None = None
    # Limits of the state by setting, where there are any.
    limits: Mapping[str, int] = field(default_factory=dict)
    # Bytes of the files that keep the state, where they are on a local disk.
    state_file_bytes: int | None = None
    # What windows said, where that is kept; None where it is not.
    history_bytes: int | None = None
    distributions: tuple[Measured, ...] = ()
    # What annotations count, by the name of the metric, and what is said of it.
    metrics: Mapping[str, MetricTotal] = field(default_factory=dict)
    metric_help: Mapping[str, str] = field(default_factory=dict)
    # Rows that violated a constraint, by its name: set aside, or passed on with a warning.
    violations: Mapping[str, int] = field(default_factory=dict)

    # Only outputs with another 'on.unavailable' than wait.
    outputs: tuple[OutputStatus, ...] = ()
    unread_files: tuple[UnreadFile, ...] = ()
    about: JobAbout = JobAbout()

    def to_json(self) -> dict[str, Any]:
        lists = ("systems", "windows", "operators", "fast_paths", "sources", "tables", "window_totals", "outputs", "unread_files")
        apart = ("metrics", "metric_help", "ledger", "held_by", "counts", "java", "distributions", "about", *lists)
        data = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in apart}
        data.update({name: [asdict(one) for one in getattr(self, name)] for name in lists})
        data["held_by"] = None if self.held_by is None else asdict(self.held_by)
        data["metrics"] = totals_json(self.metrics)
        data["java"] = None if self.java is None else asdict(self.java)
        data["about"] = asdict(self.about)
        two = {name: {" ".join(key): count for key, count in getattr(self.counts, name).items()} for name in ("errors", "sink_errors")}
        data["counts"] = {**asdict(replace(self.counts, errors={}, sink_errors={})), **two}
        return {**data, "ledger": self.ledger.to_json(), "balanced": self.ledger.is_balanced}
