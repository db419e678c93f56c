"""How a run is wanted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from windrow.connectors.spec import BATCH_TARGET
from windrow.connectors.times import parse_duration
from windrow.errors import UsageError
from windrow.model.policies import StateBackendSetting

if TYPE_CHECKING:
    from windrow.plan.physical import RunWishes

SPARK = "spark."
# As ``windrow.spark.shipping`` reads them; nothing of Spark is imported for the sake of two names.
PACK, IMAGE = "workers.pack", "workers.image"
Mode = Literal["continuous", "once", "until_end"]


@dataclass(frozen=True)
class RunSetting:
    """A setting of our own that --set takes beside Spark's. Without choices it is a whole number above 0; an empty default is no limit."""

    default: str
    meaning: str
    choices: tuple[str, ...] = ()
    is_text: bool = False
    is_address: bool = False
    is_duration: bool = False
    example: str = field(kw_only=True)

    @property
    def wanted(self) -> str:
        """What its values are, in words."""
        if self.is_duration:
            return "a length of time"
        if self.is_address:
            return "an address that starts with http:// or https://"
        return "a name" if self.is_text else f"one of {', '.join(self.choices)}" if self.choices else "a whole number above 0"

    def accepts(self, value: str) -> bool:
        if self.is_duration:
            return _is_duration(value)
        if self.is_address:
            return value.startswith(("http://", "https://"))
        if self.is_text:
            return bool(value)
        return value in self.choices if self.choices else value.isdecimal() and int(value) > 0


FAST_PATHS = "engine.fast_paths"
TRACES_ENDPOINT, TRACES_PROTOCOL, TRACES_SAMPLE = "traces.endpoint", "traces.protocol", "traces.sample.percent"
LINEAGE_URL, LINEAGE_NAMESPACE = "lineage.url", "lineage.namespace"
LINEAGE_EVERY, LINEAGE_AS = "lineage.interval.seconds", "lineage.interval.event"
STALLED = "health.stalled.seconds"
LETTERS_TOPIC, LETTERS_SERVERS = "dead_letters.topic", "dead_letters.bootstrap.servers"
# Every key with this prefix is a setting of the Kafka client that writes the letters.
LETTERS_CLIENT = "dead_letters.kafka."

RUN_SETTINGS: dict[str, RunSetting] = {
    "state.snapshot.every": RunSetting(
        "20", "a full snapshot of the state every so many batches; between them, only changes are written", example="50"
    ),
    "state.retain.batches": RunSetting(
        "100", "how many batches back the state can be read, and a job can be taken (`windrow state`)", example="500"
    ),
    "state.home": RunSetting(
        StateBackendSetting.AUTO,
        "where the state of windows and groups lives: in the driver, on the executors, or in the driver until it has grown too large",
        tuple(StateBackendSetting),
        example="distributed",
    ),
    "state.resident.max_bytes": RunSetting(
        "1073741824", "with `auto`, a statement's state beyond this moves to the executors", example="4294967296"
    ),
    "state.buckets": RunSetting(
        "8", "in how many shares the executors hold the state of a statement; fixed once it is there", example="16"
    ),
    "state.lease.seconds": RunSetting(
        "30",
        "so long after the last sign of a driver on another machine a second one may take its job over; a driver that cannot renew its "
        "lease for so long stops",
        example="60",
    ),
    "state.max_bytes": RunSetting(
        "", "a job whose state grows beyond this stops, with the batch that did it left for the next run", example="8589934592"
    ),
    BATCH_TARGET.key: RunSetting(
        "",
        "how long a [batch is to last](operations.md#batches-of-a-given-length), for sources that do not say it themselves",
        is_duration=True,
        example="2s",
    ),
    "outage.max_seconds": RunSetting("600", "how long a job waits for a source that does not answer; after that it stops", example="3600"),
    STALLED: RunSetting(
        "120",
        "so many seconds a batch may be under way, or rows may wait to be read while none is, before the job is "
        "[not ready](monitoring.md#health)",
        example="600",
    ),
    PACK: RunSetting(
        "",
        "an archive of `windrow pack` with the [Python of a cluster's workers](cluster.md#python-on-the-workers); `--pack` for short",
        is_text=True,
        example="windrow-env.tar.gz",
    ),
    IMAGE: RunSetting(
        "",
        "the image of the executors on [Kubernetes](cluster-kubernetes.md); `--image` for short",
        is_text=True,
        example="registry.example/windrow:1",
    ),
    "state.max_groups": RunSetting("", "the same for the number of groups and windows that one statement holds", example="5000000"),
    "state.on_limit": RunSetting(
        "stop",
        "what to do at these limits: stop at once, or first let go of the oldest closed windows that `ALLOWED_LATENESS` still keeps",
        ("stop", "evict"),
        example="evict",
    ),
    "state.history.seconds": RunSetting(
        "",
        "what windows say is [kept](history.md) for so many seconds of event time before the newest window; nothing is if not given",
        example="2592000",
    ),
    "state.history.max_bytes": RunSetting("", "of that, the oldest goes where it takes more bytes", example="10737418240"),
    FAST_PATHS: RunSetting(
        "on",
        "whether Spark is called in ways that it does not promise to keep, where that is [faster](performance.md#fast-paths); "
        "results are the same either way",
        ("on", "off"),
        example="off",
    ),
    TRACES_ENDPOINT: RunSetting(
        "",
        "an OpenTelemetry collector that gets a [trace](operations.md#traces) of every batch",
        is_address=True,
        example="http://localhost:4317",
    ),
    TRACES_PROTOCOL: RunSetting("grpc", "the protocol of that collector", ("grpc", "http"), example="http"),
    TRACES_SAMPLE: RunSetting("100", "of so many batches in a hundred there is a trace", example="10"),
    LINEAGE_URL: RunSetting(
        "",
        "a consumer of [OpenLineage](lineage.md#from-a-running-job) that gets events while the job runs (http://, https://), "
        "or a file to add them to",
        is_text=True,
        example="http://localhost:5000",
    ),
    LINEAGE_NAMESPACE: RunSetting("windrow", "the namespace of the jobs in these events", is_text=True, example="shop"),
    LINEAGE_EVERY: RunSetting("300", "so often such an event says how far the run has come", example="60"),
    LINEAGE_AS: RunSetting(
        "running",
        "what these events between the first and the last are called: some consumers show nothing before `complete`",
        ("running", "complete"),
        example="complete",
    ),
    LETTERS_TOPIC: RunSetting(
        "",
        "a Kafka topic that gets [dead letters](dead-letters.md#in-a-topic) too, made if missing",
        is_text=True,
        example="shop_dead_letters",
    ),
    LETTERS_SERVERS: RunSetting(
        "", f"the brokers of that topic; their client's own settings start with `{LETTERS_CLIENT}`", is_text=True, example="localhost:9092"
    ),
}


def _is_duration(text: str) -> bool:
    """
    >>> _is_duration("500ms"), _is_duration("soon"), _is_duration("0s")
    (True, False, False)
    """
    try:
        return parse_duration(text) > 0
    except ValueError:
        return False


def check_setting(key: str, value: str) -> None:
    """Refuse a setting that nothing reads, or a value that means nothing."""
    if key.startswith((SPARK, LETTERS_CLIENT)):
        return
    if key not in RUN_SETTINGS:
        close = get_close_matches(key, RUN_SETTINGS, 1, 0.5)
        known = f"there are {', '.join(RUN_SETTINGS)} and every spark.* setting"
        raise UsageError("WR616", f'unknown setting "{key}"', f'did you mean "{close[0]}"? {known}' if close else known)
    setting = RUN_SETTINGS[key]
    if not setting.accepts(value):
        raise UsageError("WR615", f'"{key}" = "{value}" is not {setting.wanted}: {setting.meaning}', f"--set {key}={setting.example}")


@dataclass(frozen=True)
class RunOptions:
    """``once`` takes what is there and leaves windows open; ``until_end`` treats the input as bounded and closes them.

    ``keep_rows``: so many of the newest rows of each output are also kept in the driver, for whoever asks from Python.
    ``environment`` is the one of windrow.yaml, which logs and metrics name.
    """

    mode: Mode = "continuous"
    state: Path | str = Path(".windrow/state")
    master: str = "local[*]"
    settings: Mapping[str, str] = field(default_factory=dict)
    trigger_interval_ms: int = 0
    keep_rows: int = 0
    # Of these rows, also the system columns that tell them apart.
    keeps_system_columns: bool = False
    environment: str = ""

    def __post_init__(self) -> None:
        for key, value in self.settings.items():
            check_setting(key, value)

    def wishes(self) -> RunWishes:
        """What of these decides how operators work, for EXPLAIN without a run."""
        from windrow.plan.physical import RunWishes, StateFacts
        from windrow.storage import may_be_for_workers

        can_move = may_be_for_workers(self.state, settings=self.settings)
        most, buckets = int(self.setting("state.resident.max_bytes")), int(self.setting("state.buckets"))
        has_fast_paths = self.has_fast_paths and self.master.startswith("local")
        return RunWishes(StateFacts(self.state_backend, can_move, most, buckets), has_fast_paths, self.mode != "continuous")

    def setting(self, key: str) -> str:
        return self.settings.get(key, RUN_SETTINGS[key].default)

    def limit(self, key: str) -> int | None:
        """A number that may be left out."""
        text = self.setting(key)
        return int(text) if text else None

    @property
    def stalled_after(self) -> float:
        return float(self.setting(STALLED))

    @property
    def state_backend(self) -> StateBackendSetting:
        return StateBackendSetting(self.setting("state.home"))

    @property
    def has_fast_paths(self) -> bool:
        return self.setting(FAST_PATHS) == "on"

    @property
    def spark_settings(self) -> dict[str, str]:
        """Spark keeps its log of as many batches as we keep states, or there would be no way back to the older ones."""
        return {"spark.sql.streaming.minBatchesToRetain": self.setting("state.retain.batches"), **session_settings(self.settings)}


def session_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """What of the settings of a run is settled when its session starts."""
    return {key: value for key, value in settings.items() if key.startswith(SPARK) or key in (PACK, IMAGE)}
