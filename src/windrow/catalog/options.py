"""WITH keys that are not a connector's own, and which keys are valid where."""

from __future__ import annotations

from windrow.connectors.outage_options import OUTAGE_OPTIONS
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import OptionKind, OptionSpec
from windrow.model.policies import FieldPolicy, Granularity, LateAtSource, MissingTableRow, MissingTime, RowPolicy

_TEXT, _CHOICE, _DURATION = OptionKind.TEXT, OptionKind.CHOICE, OptionKind.DURATION

# Where the rows of a bare SELECT go.
BARE_SINK = "console"
CONNECTOR = OptionSpec("connector", _TEXT, "what reads or writes the rows", example="files")
FORMAT = OptionSpec("format", _TEXT, "how a row is written as text or bytes", example="json")
TIME_ZONE = OptionSpec(
    "time.zone",
    _TEXT,
    "time zone of what the file reads, computes and shows; windows stay aligned to UTC",
    default="UTC",
    example="Asia/Tokyo",
)
GRANULARITY = OptionSpec(
    "watermark.granularity", _CHOICE, "judge a row by the watermark its batch started with, or by the rows before it in its own partition",
    default="batch", choices=tuple(Granularity), example="row",
)  # fmt: skip

LEAST_ROWS = "limits.min.rows"
_BAD_MAX = OptionSpec(
    "bad.rows.max", OptionKind.ROW_LIMIT, "more rows that cannot be read or have no usable time stop the job", example="5%"
)
ROW_LIMITS: tuple[OptionSpec, ...] = (
    OptionSpec("late.rows.max", OptionKind.ROW_LIMIT, "more rows that are set aside for coming late stop the job", example="5% per 10m"),
    OptionSpec("violations.max", OptionKind.ROW_LIMIT, "more rows that violate a constraint stop the job", example="100"),
    OptionSpec(
        LEAST_ROWS, OptionKind.INTEGER, "a share of these limits is judged among at least so many rows", default="100", example="1000"
    ),
)

SOURCE_OPTIONS: tuple[OptionSpec, ...] = (
    OptionSpec("connector", _TEXT, "what reads the rows", is_required=True, example="files"),
    FORMAT,
    OptionSpec("event.time.field", _TEXT, "column of the event time; else the record time or the arrival counts", example="ts"),
    OptionSpec(
        "event.time.format", _TEXT,
        "epoch_millis, epoch_seconds, epoch_micros, epoch_nanos, iso8601 or a pattern; found out from the values where none is given",
        example="epoch_millis",
    ),
    OptionSpec(
        "event.time.on_missing", _CHOICE, "what happens to a row without a readable event time",
        default="dead_letter", choices=tuple(MissingTime), example="arrival",
    ),
    OptionSpec("event.time.max_future", _DURATION, "a row further ahead of its arrival is a dead letter", default="1d", example="1h"),
    OptionSpec("watermark.delay", _DURATION, "how far rows may be out of order", default="0s", example="5s"),
    OptionSpec("watermark.idle_timeout", _DURATION, "a partition silent for so long stops holding the watermark back", example="30s"),
    OptionSpec(
        "watermark.late_rows", _CHOICE, "what happens to a row behind its partition's watermark, before any window sees it",
        default="process", choices=tuple(LateAtSource), example="drop",
    ),
    GRANULARITY,
    OptionSpec(
        "bad.rows", _CHOICE, "what happens to a row that cannot be decoded",
        default="dead_letter", choices=tuple(RowPolicy), example="drop",
    ),
    OptionSpec(
        "bad.fields", _CHOICE, "what happens to a row with one field that cannot be decoded",
        default="null", choices=tuple(FieldPolicy), example="dead_letter",
    ),
    TIME_ZONE,
    _BAD_MAX,
    *ROW_LIMITS,
)  # fmt: skip

TABLE_OPTIONS: tuple[OptionSpec, ...] = (
    OptionSpec("refresh.interval", _DURATION, "how often what has changed is loaded; without it, only when the job starts", example="5m"),
)

QUERY_OPTIONS: tuple[OptionSpec, ...] = (
    CONNECTOR,
    FORMAT,
    OptionSpec(
        "error.policy", _CHOICE, "a division by zero or an impossible cast gives NULL, or stops the job",
        default="null", choices=("null", "fail"), example="fail",
    ),
    TIME_ZONE,
    OptionSpec("state.ttl", _DURATION, "a group without a row for so long is forgotten", example="1d"),
    OptionSpec(
        "join.on_missing", _CHOICE, "what happens to a row that finds nothing in a table",
        default="null", choices=tuple(MissingTableRow), example="skip",
    ),
    OptionSpec(
        "join.wait.timeout", _DURATION, "with 'join.on_missing' = 'wait': how long a row waits for a row of the table (arrival clock)",
        default="5m", example="30s",
    ),
    OptionSpec("table.wait.timeout", _DURATION, "how long a stream waits for its tables to be loaded", default="60s", example="5m"),
    GRANULARITY,
)  # fmt: skip


def options_for_source(connector: str | None) -> tuple[OptionSpec, ...]:
    """Keys that CREATE STREAM understands, for one connector."""
    spec = CONNECTORS.get((connector or "").lower())
    return _joined(spec.source if spec is not None else None, SOURCE_OPTIONS)


def options_for_table(connector: str | None) -> tuple[OptionSpec, ...]:
    """Keys that CREATE TABLE understands: those of a source, and how it is kept fresh."""
    limits = {_BAD_MAX.key, *(limit.key for limit in ROW_LIMITS)}
    return (*(option for option in options_for_source(connector) if option.key not in limits), *TABLE_OPTIONS)


def options_for_sink(connector: str | None) -> tuple[OptionSpec, ...]:
    """Keys that a query which writes to a connector understands."""
    spec = CONNECTORS.get((connector or "").lower())
    is_outside = spec is not None and spec.sink is not None and spec.is_outside
    return _joined(spec.sink if spec is not None else None, (*QUERY_OPTIONS, *ROW_LIMITS, *(OUTAGE_OPTIONS if is_outside else ())))


def options_for_target(connector: str | None) -> tuple[OptionSpec, ...]:
    """Keys that a stream which INSERT INTO fills understands: those of its sink, and where the event time of its rows stands."""
    named = tuple(option for option in SOURCE_OPTIONS if option.key in ("event.time.field", "event.time.format"))
    return (*options_for_sink(connector), *named)


def options_for_query() -> tuple[OptionSpec, ...]:
    """Keys that a query understands whatever it writes to."""
    return QUERY_OPTIONS


def _joined(own: tuple[OptionSpec, ...] | None, general: tuple[OptionSpec, ...]) -> tuple[OptionSpec, ...]:
    """A connector's own word on a key wins."""
    keys = {option.key for option in own or ()}
    return (*(option for option in general if option.key not in keys), *(own or ()))
