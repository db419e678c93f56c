"""What a file's name says about the times in it, for files whose footer says nothing."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from windrow.otap.timing import SECOND, Timing

_MILLIS = re.compile(r"part-(\d{12,14})-[0-9a-f-]{8,}\.parquet", re.IGNORECASE)
_ISO = re.compile(r"part-(\d{8}T\d{6}Z)-[0-9a-z-]+\.parquet", re.IGNORECASE)


def range_of_name(name: str, timing: Timing) -> tuple[int, int] | None:
    """The least and greatest time that a file of this name should hold; None where the name says nothing.

    The exporter stamps a file when its first batch comes: rows may be older by what they took to get there, and come until the
    file is closed. A name with a calendar time is taken to stand in the middle of the file.

    >>> range_of_name("part-20250918T140000Z-a1b2c3d4.parquet", Timing()) == (1758203970 * SECOND, 1758204030 * SECOND)
    True
    """
    known = _MILLIS.fullmatch(name)
    if known is not None:
        at = int(known[1]) * 1_000_000
        return at - timing.processing_delay - timing.max_clock_drift, at + timing.max_file_duration + timing.max_clock_drift
    known = _ISO.fullmatch(name)
    if known is None:
        return None
    try:
        at = int(datetime.strptime(known[1].upper(), "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC).timestamp()) * SECOND
    except ValueError:
        return None
    half = timing.max_file_duration // 2
    return at - half, at + half
