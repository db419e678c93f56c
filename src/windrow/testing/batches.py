"""Cutting a case's rows into micro-batches, and its markers into what they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from windrow.errors import UsageError
from windrow.sql import parse_duration
from windrow.testing.case import MARKERS


@dataclass(frozen=True)
class Feed:
    """One micro-batch: rows with the stream they belong to."""

    rows: tuple[tuple[str, Mapping[str, Any]], ...]


@dataclass(frozen=True)
class Advance:
    micros: int


@dataclass(frozen=True)
class Force:
    watermark: int


@dataclass(frozen=True)
class Restart:
    pass


@dataclass(frozen=True)
class End:
    pass


Action = Feed | Advance | Force | Restart | End


# How often a batch ends after a row, where batches are cut at random: short ones and long ones both come up.
_ENDS = 0.4


def schedule(rows: Sequence[tuple[str, Mapping[str, Any]]], batches: str, seed: str = "") -> list[Action]:
    """What happens, in order. A marker always ends the batch before it. Of one seed, the same batches are cut at random.

    >>> [type(a).__name__ for a in schedule([("t", {"v": 1}), ("t", {"v": 2}), ("t", {"_end": True})], "single")]
    ['Feed', 'End']
    """
    chance = Random(seed)
    actions: list[Action] = []
    pending: list[tuple[str, Mapping[str, Any]]] = []

    def flush() -> None:
        if pending:
            actions.append(Feed(tuple(pending)))
            pending.clear()

    for stream, row in rows:
        marker = next((key for key in row if key in MARKERS), None)
        if marker is None:
            pending.append((stream, row))
            if batches == "per_row" or (batches == "random" and chance.random() < _ENDS):
                flush()
            continue
        flush()
        action = _marker(marker, row[marker])
        if action is not None:
            actions.append(action)
    flush()
    return actions


def _marker(marker: str, value: Any) -> Action | None:
    match marker:
        case "_end":
            return End()
        case "_restart":
            return Restart()
        case "_advance_watermark_to":
            return Force(int(value) * 1000)
        case "_advance_clock":
            micros = parse_duration(str(value))
            if micros is None:
                raise UsageError("WR904", f"_advance_clock {value!r} is no duration", '{"_advance_clock": "30s"}')
            return Advance(micros)
        case _:
            return None
