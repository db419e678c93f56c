"""The system columns: one definition, used by the checks, the planner, the engine and the documentation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from windrow.model.row_protocol import EMISSION, END, EVENT_TIME, REVISION, START, TOPIC
from windrow.model.types import BIGINT, INT, STRING, TIMESTAMP, DataType, Map


class Origin(Enum):
    """Where a system column comes from: every row has the first kind, only emissions of a window or group the others."""

    ROW = "row"
    WINDOW = "window"
    EMISSION = "emission"


@dataclass(frozen=True)
class SystemColumn:
    name: str
    type: DataType
    origin: Origin
    meaning: str
    example: str


SYSTEM_COLUMNS: tuple[SystemColumn, ...] = (
    SystemColumn(
        "_timestamp",
        TIMESTAMP,
        Origin.ROW,
        "when the row arrived: the record time of Kafka, else the ingest time",
        "SELECT v, _timestamp AS arrived FROM t",
    ),
    SystemColumn(
        EVENT_TIME,
        TIMESTAMP,
        Origin.ROW,
        "when the row happened: event.time.field, else the record time, else the arrival",
        "SELECT v FROM t WHERE _event_time >= TIMESTAMP '2026-01-01 00:00:00'",
    ),
    SystemColumn("_partition", INT, Origin.ROW, "partition of the source", "SELECT v FROM t WHERE _partition = 0"),
    SystemColumn("_offset", BIGINT, Origin.ROW, "position within the partition", "SELECT v, _offset AS o FROM t"),
    SystemColumn(TOPIC, STRING, Origin.ROW, "topic, or path of the file", "SELECT v, _topic AS came_from FROM t"),
    SystemColumn("_key", STRING, Origin.ROW, "key of the record", "SELECT _key AS k, v FROM t"),
    SystemColumn("_headers", Map(STRING, STRING), Origin.ROW, "headers of the record", "SELECT _headers['trace-id'] AS trace FROM t"),
    SystemColumn(
        START,
        TIMESTAMP,
        Origin.WINDOW,
        "start of the emission's window (included)",
        "SELECT _window_start AS s, COUNT(*) AS n FROM t WINDOW TUMBLING(10s)",
    ),
    SystemColumn(
        END,
        TIMESTAMP,
        Origin.WINDOW,
        "end of the emission's window (excluded)",
        "SELECT _window_end AS e, COUNT(*) AS n FROM t WINDOW TUMBLING(10s)",
    ),
    SystemColumn(
        EMISSION,
        STRING,
        Origin.EMISSION,
        "early, final, late, change or retract",
        "SELECT COUNT(*) AS n, _emission AS kind FROM t WINDOW TUMBLING(10s) ALLOWED_LATENESS 10s",
    ),
    SystemColumn(
        REVISION,
        INT,
        Origin.EMISSION,
        "1, 2, 3 ... for the same group and window",
        "SELECT COUNT(*) AS n, _revision AS rev FROM t WINDOW TUMBLING(10s) EMIT CHANGES",
    ),
)

_BY_NAME = {column.name: column for column in SYSTEM_COLUMNS}


def system_column(name: str) -> SystemColumn | None:
    """The system column of that name, case-insensitively.

    >>> system_column("_WINDOW_START").type
    Atomic(name='TIMESTAMP')
    """
    return _BY_NAME.get(name.lower())


ROW_COLUMNS: tuple[SystemColumn, ...] = tuple(c for c in SYSTEM_COLUMNS if c.origin is Origin.ROW)

_HIDDEN = re.compile(
    "_(t|row|rows|fate|fate_in|pass|judged|slice|raw_text|seq|own_mark|source_mark|source_partition|greatest|behind|passed|included|aside"
    "|arrived|is_new|place|current|until|window_rows|row_time|which_source|tick|k[0-9]+|a[0-9]+_.*|clock[0-9]+|warned[0-9]+"
    "|partition_watermark|source_watermark|l[0-9]+(k[0-9]+|o))",
    re.IGNORECASE,
)


def is_hidden(name: str) -> bool:
    """Whether rows have a column of that name while they are computed, so that no column of a user may have it.

    >>> is_hidden("_T"), is_hidden("_k0"), is_hidden("_id"), is_hidden("t")
    (True, True, False, False)
    """
    return _HIDDEN.fullmatch(name) is not None
