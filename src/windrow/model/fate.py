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
    VIOLATION = 9

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
    Fate.VIOLATION: ("WR708", "the row violates a constraint of its stream"),
    Fate.FILTERED: ("", "the WHERE clause let it go"),
}

# A row that violates a constraint has this and the number of the constraint in its ``_fate``, so that violations are counted by name.
FIRST_VIOLATION = 32
MOST_CONSTRAINTS = 64
"""So many fit into the byte that holds a fate."""


def fate_of(number: int) -> Fate:
    """What a number in ``_fate`` stands for.

    >>> fate_of(5).name, fate_of(34).name
    ('LATE', 'VIOLATION')
    """
    return Fate.VIOLATION if number >= FIRST_VIOLATION else Fate(number)
