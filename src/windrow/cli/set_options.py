"""``--set key=value``: Spark's settings and our own, with unknown keys refused."""

from __future__ import annotations

import os
from collections.abc import Sequence

from windrow.cli import codes
from windrow.errors import UsageError
from windrow.jobs.options import IMAGE, PACK, check_setting


def read_settings(entries: Sequence[str]) -> dict[str, str]:
    """
    >>> read_settings(["spark.sql.shuffle.partitions=4", "state.retain.batches = 7"])
    {'spark.sql.shuffle.partitions': '4', 'state.retain.batches': '7'}
    """
    return dict(_read(entry) for entry in entries)


def of_workers(pack: str | None, image: str | None) -> dict[str, str]:
    """What --pack and --image are short for. A path is taken from where the command was typed.

    >>> of_workers(None, "windrow:1")
    {'workers.image': 'windrow:1'}
    """
    found = {PACK: None if pack is None else pack if "://" in pack else os.path.abspath(pack), IMAGE: image}
    return {key: value for key, value in found.items() if value is not None}


def _read(entry: str) -> tuple[str, str]:
    key, equals, value = (part.strip() for part in entry.partition("="))
    if not equals or not key:
        raise UsageError(codes.BAD_SETTING, f"--set {entry} is not key=value", "--set spark.sql.shuffle.partitions=4")
    check_setting(key, value)
    return key, value
