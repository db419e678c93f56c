"""What becomes of a row: the reasons by which every row is accounted for."""

from __future__ import annotations

from enum import IntEnum


class Fate(IntEnum):
    """Stored in a row's ``_fate`` column. Everything but OK and FILTERED is set aside with this as its reason."""

    OK = 0
    UNDECODABLE = 1
    BAD_FIELD = 2
    NO_EVENT_TIME = 3
    FUTURE = 4
    LATE = 5
    LATE_AT_SOURCE = 6
    FILTERED = 7
    REFUSED = 8

    @property
    def code(self) -> str:
        return FATE_CODES[self][0]

    @property
    def meaning(self) -> str:
        return FATE_CODES[self][1]


FATE_CODES: dict[Fate, tuple[str, str]] = {
    Fate.OK: ("", "counted"),
    Fate.UNDECODABLE: ("WR701", "the row could not be decoded"),
    Fate.BAD_FIELD: ("WR702", "a field could not be read, or a NOT NULL column is missing"),
    Fate.NO_EVENT_TIME: ("WR703", "the event time is missing or unreadable"),
    Fate.FUTURE: ("WR704", "the event time is further in the future than event.time.max_future allows"),
    Fate.LATE: ("WR705", "every window that the row belongs to has closed for good"),
    Fate.LATE_AT_SOURCE: ("WR706", "the row is older than its partition's watermark, and watermark.late_rows is drop"),
    Fate.REFUSED: ("WR707", "the output refuses the row for what it holds"),
    Fate.FILTERED: ("", "the WHERE clause let it go"),
}
