"""``--set key=value``: Spark's settings and our own, with unknown keys refused."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.cli import codes
from windrow.errors import UsageError
from windrow.jobs.options import check_setting


def read_settings(entries: Sequence[str]) -> dict[str, str]:
    """
    >>> read_settings(["spark.sql.shuffle.partitions=4", "state.retain.batches = 7"])
    {'spark.sql.shuffle.partitions': '4', 'state.retain.batches': '7'}
    """
    return dict(_read(entry) for entry in entries)


def _read(entry: str) -> tuple[str, str]:
    key, equals, value = (part.strip() for part in entry.partition("="))
    if not equals or not key:
        raise UsageError(codes.BAD_SETTING, f"--set {entry} is not key=value", "--set spark.sql.shuffle.partitions=4")
    check_setting(key, value)
    return key, value
