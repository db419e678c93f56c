"""``--set key=value``: Spark's settings and our own, with unknown keys refused."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from windrow.cli import codes
from windrow.errors import UsageError
from windrow.jobs.options import RUN_SETTINGS

SPARK = "spark."


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
    if key.startswith(SPARK):
        return key, value
    if key not in RUN_SETTINGS:
        close = get_close_matches(key, RUN_SETTINGS, 1, 0.5)
        known = f"there are {', '.join(RUN_SETTINGS)} and every spark.* setting"
        raise UsageError(codes.UNKNOWN_SETTING, f'unknown setting "{key}"', f'did you mean "{close[0]}"? {known}' if close else known)
    default, meaning = RUN_SETTINGS[key]
    if default.isdigit() and (not value.isdigit() or int(value) < 1):
        raise UsageError(codes.BAD_SETTING, f'"{key}" = "{value}" is not a whole number above 0: {meaning}', f"--set {key}={default}")
    return key, value
