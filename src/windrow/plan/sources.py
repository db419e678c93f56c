"""CREATE STREAM and CREATE TABLE as stages that read: options become rules."""

from __future__ import annotations

from windrow.catalog.known_columns import change_column
from windrow.connectors.registry import CONNECTORS
from windrow.model.options import Options
from windrow.model.policies import FieldPolicy, Granularity, LateAtSource, MissingTime, RowPolicy
from windrow.model.statement import CreateStream, CreateTable
from windrow.model.window import DAY
from windrow.model.zone import UTC, zone_named
from windrow.plan.stages import LoadTable, Read
from windrow.plan.time_rules import ClockRule, TimeRule
from windrow.sql import parse_duration
from windrow.sql.durations import show_duration

DEFAULT_WAIT = 60_000_000
DEFAULT_RETRY_FOR = 300_000_000


def table_wait(options: Options) -> int:
    """How long a statement waits for its tables to be loaded."""
    return duration_option(options, "table.wait.timeout", DEFAULT_WAIT) or 0


def granularity_of(options: Options) -> Granularity:
    return Granularity(_choice(options, "watermark.granularity", Granularity.BATCH))


def plan_source(statement: CreateStream) -> Read:
    options = statement.options
    connector = (options.get("connector") or "").lower()
    spec = CONNECTORS[connector]
    return Read(
        name=statement.name,
        connector=connector,
        columns=statement.columns,
        options=_own_options(connector, options),
        time=TimeRule(
            column=options.get("event.time.field") or spec.event_time,
            format=options.get("event.time.format"),
            on_missing=MissingTime(_choice(options, "event.time.on_missing", MissingTime.DEAD_LETTER)),
            max_future=duration_option(options, "event.time.max_future", DAY) or 0,
        ),
        clock=ClockRule(
            delay=duration_option(options, "watermark.delay", 0) or 0,
            idle_timeout=duration_option(options, "watermark.idle_timeout", None),
            late_rows=LateAtSource(_choice(options, "watermark.late_rows", LateAtSource.PROCESS)),
            granularity=granularity_of(options),
        ),
        bad_rows=RowPolicy(_choice(options, "bad.rows", RowPolicy.DEAD_LETTER)),
        bad_fields=FieldPolicy(_choice(options, "bad.fields", FieldPolicy.NULL)),
        time_zone=zone_named(options.get("time.zone") or UTC),
        reason=spec.summary,
        constraints=statement.constraints,
    )


def plan_table(statement: CreateTable) -> LoadTable:
    change = change_column(statement)
    listed = [] if change is None else [column for column in statement.columns if column.name.lower() == change.name]
    columns = statement.columns if change is None or listed else (*statement.columns, change)
    change = listed[0] if listed else change
    read = plan_source(CreateStream(statement.name, columns, statement.options))
    latest = f"the latest row per {', '.join(statement.primary_key)}" if statement.primary_key else "every row: there is no primary key"
    refresh = duration_option(statement.options, "refresh.interval", None)
    again = "" if refresh is None else f", then every {show_duration(refresh)} what has changed"
    gone = "" if change is None else ", but for those that were deleted"
    reason = f"loaded before the first row is read{again}; {latest}{gone}"
    return LoadTable(statement.name, read, statement.primary_key, reason, refresh, None if change is None else change.name)


def _own_options(connector: str, options: Options) -> tuple[tuple[str, str], ...]:
    """The connector's own keys, defaults filled in. A key that ends in ``.*`` passes every key with that prefix."""
    values: dict[str, str] = {}
    for spec in CONNECTORS[connector].source or ():
        if spec.key.endswith(".*"):
            prefix = spec.key[:-1].lower()
            values.update({entry.key: entry.value for entry in options if entry.key.lower().startswith(prefix)})
            continue
        value = options.get(spec.key, spec.default)
        if value is not None:
            values[spec.key] = value
    return tuple(sorted(values.items()))


def is_strict(options: Options) -> bool:
    """Whether a division by zero or an impossible cast stops the job."""
    return _choice(options, "error.policy", "null") == "fail"


def _choice(options: Options, key: str, default: str) -> str:
    return (options.get(key) or default).lower()


def duration_option(options: Options, key: str, default: int | None) -> int | None:
    text = options.get(key)
    return default if text is None else parse_duration(text)
