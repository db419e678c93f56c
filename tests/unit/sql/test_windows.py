"""Every accepted spelling of the WINDOW clause, and what it means."""

from __future__ import annotations

import pytest

from windrow.model.expr import Binary, Column, Literal
from windrow.model.query import Select
from windrow.model.statement import SelectStatement
from windrow.model.window import (
    HOUR,
    MILLI,
    MINUTE,
    SECOND,
    AscendingTimestamps,
    BoundedOutOfOrderness,
    DeadLetterLate,
    DropLate,
    EventTime,
    EveryInterval,
    EveryRecords,
    IncludeInNext,
    OnSessionEnd,
    OnWatermark,
    ProcessingTime,
    Punctuated,
    UpdatePrevious,
    WhenRow,
    WindowClause,
)
from windrow.model.window_kinds import Cumulate, Rows, Session, Sliding, Tumbling
from windrow.sql import parse

_FIVE = Tumbling(5 * MINUTE)
_TEN_BY_ONE = Sliding(10 * MINUTE, MINUTE)
_TS = EventTime(Column("ts"))
_HIGH = Binary(">", Column("v"), Literal(9))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TUMBLING(5m)", WindowClause(_FIVE)),
        ("tumble(5m)", WindowClause(_FIVE)),
        ("CUMULATE(10m, 1h)", WindowClause(Cumulate(10 * MINUTE, HOUR))),
        ("cumulate(ts, 10m, 1h OFFSET 5m)", WindowClause(Cumulate(10 * MINUTE, HOUR, 5 * MINUTE), _TS)),
        ("TUMBLING(300)", WindowClause(_FIVE)),
        ("TUMBLING(300000ms)", WindowClause(_FIVE)),
        ("TUMBLING(5 MINUTES)", WindowClause(_FIVE)),
        ("TUMBLING(INTERVAL '5' MINUTE)", WindowClause(_FIVE)),
        ("TUMBLING(INTERVAL 5 MINUTES)", WindowClause(_FIVE)),
        ("TUMBLING(ts, 5m)", WindowClause(_FIVE, _TS)),
        ("TUMBLING(5m, ts)", WindowClause(_FIVE, _TS)),
        ("TUMBLE(5m, t.ts)", WindowClause(_FIVE, EventTime(Column("ts", "t")))),
        ("TUMBLE(INTERVAL '5' MINUTE, _event_time)", WindowClause(_FIVE)),
        ("TUMBLING(5m) ON EVENT_TIME(ts)", WindowClause(_FIVE, _TS)),
        ("TUMBLING(5m) ON EVENT_TIME()", WindowClause(_FIVE)),
        ("TUMBLING(5m) ON PROCESSING_TIME()", WindowClause(_FIVE, ProcessingTime())),
        ("TUMBLING(5m, OFFSET 30s)", WindowClause(Tumbling(5 * MINUTE, 30 * SECOND))),
        ("TUMBLING(5m OFFSET 30s)", WindowClause(Tumbling(5 * MINUTE, 30 * SECOND))),
        ("TUMBLING(5m) OFFSET 30s", WindowClause(Tumbling(5 * MINUTE, 30 * SECOND))),
        ("TUMBLING(ts, 5m) OFFSET -1h", WindowClause(Tumbling(5 * MINUTE, -HOUR), _TS)),
        ("SLIDING(10m, 1m)", WindowClause(_TEN_BY_ONE)),
        ("HOP(10m, 1m)", WindowClause(_TEN_BY_ONE)),
        ("HOPPING(ts, 10m, 1m)", WindowClause(_TEN_BY_ONE, _TS)),
        ("SLIDING(10m, 1m, ts)", WindowClause(_TEN_BY_ONE, _TS)),
        ("SLIDING(10m, 10m)", WindowClause(Sliding(10 * MINUTE, 10 * MINUTE))),
        ("SLIDING(10m, 1m) OFFSET 200ms", WindowClause(Sliding(10 * MINUTE, MINUTE, 200 * MILLI))),
        ("SESSION(30m)", WindowClause(Session(30 * MINUTE))),
        ("SESSION(30m TIMEOUT)", WindowClause(Session(30 * MINUTE))),
        ("SESSION(30m, MAX 2h)", WindowClause(Session(30 * MINUTE, 2 * HOUR))),
        ("SESSION(30m TIMEOUT, MAX 2h)", WindowClause(Session(30 * MINUTE, 2 * HOUR))),
        ("SESSION(ts, 30m)", WindowClause(Session(30 * MINUTE), _TS)),
        ("ROWS(100)", WindowClause(Rows(100))),
        (
            "TUMBLING(5m) WITH WATERMARK BOUNDED_OUT_OF_ORDERNESS(5s)",
            WindowClause(_FIVE, watermark=BoundedOutOfOrderness(5 * SECOND)),
        ),
        ("TUMBLING(5m) WITH WATERMARK ASCENDING_TIMESTAMPS", WindowClause(_FIVE, watermark=AscendingTimestamps())),
        ("TUMBLING(5m) WITH WATERMARK PUNCTUATED(v > 9)", WindowClause(_FIVE, watermark=Punctuated(_HIGH))),
        (
            "TUMBLING(5m) TRIGGER ON WATERMARK OR EVERY 30s OR EVERY 1000 RECORDS OR ON SESSION_END",
            WindowClause(_FIVE, triggers=(OnWatermark(), EveryInterval(30 * SECOND), EveryRecords(1000), OnSessionEnd())),
        ),
        ("TUMBLING(5m) TRIGGER EVERY INTERVAL '30' SECOND", WindowClause(_FIVE, triggers=(EveryInterval(30 * SECOND),))),
        ("TUMBLING(5m) TRIGGER EVERY 30", WindowClause(_FIVE, triggers=(EveryInterval(30 * SECOND),))),
        ("TUMBLING(5m) TRIGGER WHEN v > 9 OR ON WATERMARK", WindowClause(_FIVE, triggers=(WhenRow(_HIGH), OnWatermark()))),
        (
            "TUMBLING(5m) TRIGGER WHEN v > 9 OR every OR EVERY 5 RECORDS",
            WindowClause(_FIVE, triggers=(WhenRow(Binary("OR", _HIGH, Column("every"))), EveryRecords(5))),
        ),
        ("TUMBLING(5m) ALLOWED_LATENESS 10s", WindowClause(_FIVE, allowed_lateness=10 * SECOND)),
        ("TUMBLING(5m) ALLOWED_LATENESS 0s", WindowClause(_FIVE, allowed_lateness=0)),
        ("TUMBLING(5m) LATE_DATA_STRATEGY DEAD_LETTER", WindowClause(_FIVE, late=DeadLetterLate())),
        ("TUMBLING(5m) LATE_DATA_STRATEGY DEAD_LETTER INTO too_late", WindowClause(_FIVE, late=DeadLetterLate("too_late"))),
        ("TUMBLING(5m) LATE_DATA_STRATEGY DROP", WindowClause(_FIVE, late=DropLate())),
        ("TUMBLING(5m) LATE_DATA_STRATEGY INCLUDE_IN_NEXT", WindowClause(_FIVE, late=IncludeInNext())),
        ("TUMBLING(5m) LATE_DATA_STRATEGY UPDATE_PREVIOUS", WindowClause(_FIVE, late=UpdatePrevious())),
        (
            (
                "TUMBLING(5m) LATE_DATA_STRATEGY DROP ALLOWED_LATENESS 1h TRIGGER ON WATERMARK "
                "WITH WATERMARK ASCENDING_TIMESTAMPS ON EVENT_TIME(ts)"
            ),
            WindowClause(_FIVE, _TS, AscendingTimestamps(), (OnWatermark(),), HOUR, DropLate()),
        ),
    ],
)
def test_spellings(text: str, expected: WindowClause) -> None:
    statement = parse(f"SELECT COUNT(*) FROM t WINDOW {text} EMIT FINAL").statements[0]
    assert isinstance(statement, SelectStatement)
    assert isinstance(statement.query, Select)
    assert statement.query.window == expected
