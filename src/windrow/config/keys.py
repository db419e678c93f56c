"""Which keys ``windrow.yaml`` has. What is read, what is refused, the schema for editors and the documentation are made from these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from windrow.catalog.options import SOURCE_OPTIONS
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import OptionKind, OptionSpec
from windrow.jobs.options import LETTERS_CLIENT, RUN_SETTINGS, SPARK, RunSetting

# Where a value stands: "watermark", "delay". Keys with dots in them are one element: "streams", "trades", "bootstrap.servers".
Path = tuple[str, ...]
_TEXT, _DURATION, _CHOICE, _INTEGER = OptionKind.TEXT, OptionKind.DURATION, OptionKind.CHOICE, OptionKind.INTEGER

_LETTERS_EXAMPLE = f"{LETTERS_CLIENT}security.protocol"
STATE, WATERMARK = "state.", "watermark."
EXTENDS = OptionSpec("extends", _TEXT, "the environment that this one adds to and changes", example="base")
ROOT = OptionSpec(
    "root", _TEXT, "the folder of state; a file's is `<root>/<environment>/<file>`", default=".windrow", example="/var/lib/windrow"
)
SCALARS: tuple[OptionSpec, ...] = (
    OptionSpec("master", _TEXT, "Spark's master", default="local[*]", example="local[2]"),
    OptionSpec("trigger_interval", _DURATION, "the least time between two batches", example="10s"),
    OptionSpec("lateness", _DURATION, "`ALLOWED_LATENESS` of windows whose query says none", example="30s"),
    OptionSpec("trigger", _TEXT, "`TRIGGER` of windows whose query says none", example="EVERY 30s OR ON WATERMARK"),
)
WINDOW_KEYS: tuple[OptionSpec, ...] = (
    OptionSpec("size", _DURATION, "the size of a tumbling, sliding or cumulating window", example="1m"),
    OptionSpec("advance", _DURATION, "how far apart sliding windows begin", example="10s"),
    OptionSpec("step", _DURATION, "the step of a cumulating window", example="1m"),
    OptionSpec("gap", _DURATION, "the gap of a session", example="30m"),
    OptionSpec("max_duration", _DURATION, "how long a session lasts at most", example="4h"),
    OptionSpec("lateness", _DURATION, "in the place of `ALLOWED_LATENESS`", example="10s"),
    OptionSpec("trigger", _TEXT, "in the place of `TRIGGER`", example="EVERY 5s OR ON WATERMARK"),
    OptionSpec("delay", _DURATION, "in the place of `WITH WATERMARK`", example="5s"),
)
# Lists of files, at the top only.
FILE_LISTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "files": ("the SQL files of the project, as patterns", ("*.sql", "queries/*.sql")),
    "include": ("SQL files whose statements go before those of every other file: sources that several share", ()),
    "cases": ("case files, as patterns: what `windrow test DIR` runs", ("cases/*.jsonl", "cases/*.json")),
}
DEFAULT_ENVIRONMENT = OptionSpec("default_environment", _TEXT, "the environment that is taken where none is named", example="dev")
ENVIRONMENTS = "environments"


@dataclass(frozen=True)
class Section:
    """A key with keys of its own. With ``of``, there is a name of the user's between: ``streams: {trades: {...}}``.

    ``specs`` are the keys, those of a name where there is one; None: any key, checked where it is used.
    """

    key: str
    doc: str
    example: str
    specs: Callable[[str], tuple[OptionSpec, ...] | None]
    of: str | None = None


def _setting(key: str, setting: RunSetting) -> OptionSpec:
    kind = (
        _DURATION if setting.is_duration else _TEXT if setting.is_text or setting.is_address else _CHOICE if setting.choices else _INTEGER
    )
    return OptionSpec(key, kind, setting.meaning, setting.default or None, setting.choices, example=setting.example)


def _state_keys(_name: str) -> tuple[OptionSpec, ...]:
    own = (_setting(key.removeprefix(STATE), setting) for key, setting in RUN_SETTINGS.items() if key.startswith(STATE))
    return (ROOT, *own)


def _settings_keys(_name: str) -> tuple[OptionSpec, ...]:
    free = (
        OptionSpec(f"{SPARK}*", _TEXT, "any setting of Spark", example="8", example_key="spark.sql.shuffle.partitions"),
        OptionSpec(f"{LETTERS_CLIENT}*", _TEXT, "the client of dead letters", example="SSL", example_key=_LETTERS_EXAMPLE),
    )  # fmt: skip
    return (*(_setting(key, setting) for key, setting in RUN_SETTINGS.items() if not key.startswith(STATE)), *free)


def _watermark_keys(_name: str) -> tuple[OptionSpec, ...]:
    found = (spec for spec in SOURCE_OPTIONS if spec.key.startswith(WATERMARK))
    return tuple(replace(spec, key=spec.key.removeprefix(WATERMARK)) for spec in found)


def _connector_keys(name: str) -> tuple[OptionSpec, ...] | None:
    spec = CONNECTORS.get(name.lower())
    if spec is None:
        return None
    source, sink = spec.source or (), spec.sink or ()
    own = {option.key for option in source}
    return (*source, *(option for option in sink if option.key not in own))


def _any(_name: str) -> None:
    return None


def _window_keys(_name: str) -> tuple[OptionSpec, ...]:
    return WINDOW_KEYS


SECTIONS: tuple[Section, ...] = (
    Section("variables", "values of `${NAME}` in the SQL files", "{REGION: eu}", _any),
    Section("state", "where state lives and how it is saved", "{root: /var/lib/windrow, max_bytes: 8589934592}", _state_keys),
    Section("settings", "the other settings of `--set`, those of Spark among them", "{spark.sql.shuffle.partitions: 8}", _settings_keys),
    Section("watermark", "`watermark.*` of sources that do not say it themselves", "{delay: 5s, idle_timeout: 1m}", _watermark_keys),
    Section(
        "connectors", "options of every stream of a connector that does not say them itself",
        "{kafka: {bootstrap.servers: 'kafka:9092'}}", _connector_keys, "connector",
    ),
    Section(
        "streams", "options of one source or table, in the place of those of its `WITH`", "{trades: {topic: trades_v2}}", _any, "stream"
    ),
    Section("sinks", "options of one output, in the place of those of its `WITH`", "{candles: {connector: console}}", _any, "output"),
    Section(
        "windows", "the window of one query, or of every query that reads a stream",
        "{candles: {size: 1m, lateness: 10s}}", _window_keys, "query or stream",
    ),
)  # fmt: skip


def section(key: str) -> Section | None:
    return next((one for one in SECTIONS if one.key == key), None)


def known_spec(specs: tuple[OptionSpec, ...], key: str) -> OptionSpec | None:
    """What is known of a key; one that ends in ``.*`` stands for all with that prefix."""
    exact = next((spec for spec in specs if spec.key.lower() == key.lower()), None)
    return exact or next((spec for spec in specs if spec.key.endswith(".*") and key.startswith(spec.key[:-1])), None)


def environment_keys() -> Iterator[str]:
    yield from (spec.key for spec in SCALARS)
    yield from (one.key for one in SECTIONS)
