"""What a user chose for rows that are bad, late or alone: the values of the options about them, each set declared once."""

from __future__ import annotations

from enum import StrEnum


class RowPolicy(StrEnum):
    """'bad.rows': what happens to a row that is set aside at its source."""

    DEAD_LETTER = "dead_letter"
    DROP = "drop"
    FAIL = "fail"


class FieldPolicy(StrEnum):
    """'bad.fields': what happens to a row with one field that cannot be decoded."""

    NULL = "null"
    DEAD_LETTER = "dead_letter"


class MissingTime(StrEnum):
    """'event.time.on_missing': what happens to a row without a readable event time."""

    DEAD_LETTER = "dead_letter"
    ARRIVAL = "arrival"
    DROP = "drop"
    FAIL = "fail"


class LateAtSource(StrEnum):
    """'watermark.late_rows': what happens to a row behind its partition's watermark, before any window sees it."""

    PROCESS = "process"
    WARN = "warn"
    DROP = "drop"


class Granularity(StrEnum):
    """'watermark.granularity': by which watermark a row is judged, that of its batch or that of the rows before it."""

    BATCH = "batch"
    ROW = "row"


class MissingTableRow(StrEnum):
    """'join.on_missing': what happens to a row that finds nothing in a table."""

    NULL = "null"
    SKIP = "skip"
    DEFAULT = "default"
    WAIT = "wait"
    FAIL = "fail"


class StateBackendSetting(StrEnum):
    """'state.home': where the state of windows and groups lives; with AUTO in the driver until it has grown too large."""

    AUTO = "auto"
    RESIDENT = "resident"
    DISTRIBUTED = "distributed"
