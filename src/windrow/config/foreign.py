"""Keys of other systems' configuration for windows over language-model events: what they are here, or why they mean nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from windrow.config.keys import Path
from windrow.sql import parse_duration

SECTIONS = ("windowing", "watermarks", "checkpointing")
# Under ``state``, beside our own keys.
TIERS = ("hot", "warm", "cold")
# How many batches lie between two snapshots depends on how long a batch is, which another key may say.
CHECKPOINT_SECONDS: Path = ("checkpointing", "interval_seconds")
SNAPSHOT_EVERY: Path = ("state", "snapshot.every")

_UNITS = {"_ms": "ms", "_millis": "ms", "_seconds": "s", "_secs": "s", "_minutes": "m", "_hours": "h"}
_SIZE = re.compile(r"(.*_)?(mb|gb|kb|bytes)")
_BYTES = {"bytes": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30}


@dataclass(frozen=True)
class Mapped:
    """The key here, and the value for it; None where the value makes no sense."""

    path: Path
    text: str | None


@dataclass(frozen=True)
class Refused:
    reason: str
    hint: str


Answer = Mapped | Refused
_Rename = tuple[tuple[str, ...], Path]

# Last part of the key, as several spell it, to the place here. "*" is the name between.
_DURATIONS: dict[str, tuple[_Rename, ...]] = {
    "windowing": (
        (("size", "window_size"), ("windows", "*", "size")),
        (("slide", "slide_interval", "advance", "hop"), ("windows", "*", "advance")),
        (("gap", "session_gap", "timeout", "inactivity_gap"), ("windows", "*", "gap")),
        (("max_duration", "max_session_duration"), ("windows", "*", "max_duration")),
        (("allowed_lateness", "lateness"), ("windows", "*", "lateness")),
        (("max_out_of_order_delay", "max_out_of_orderness", "watermark_delay"), ("windows", "*", "delay")),
        (("idle_timeout",), ("streams", "*", "watermark.idle_timeout")),
    ),
    "watermarks": (
        (("max_out_of_order_delay", "max_out_of_orderness", "delay"), ("watermark", "delay")),
        (("idle_timeout",), ("watermark", "idle_timeout")),
        (("allowed_lateness",), ("lateness",)),
        # The watermark moves at the end of a batch.
        (("emit_interval",), ("trigger_interval",)),
    ),
}
_BY_QUERY = "is no setting: the query says it, because it decides what the numbers mean"
_LEAVE = "leave the key out"
_REASONS: dict[tuple[str, str], Refused] = {
    ("windowing", "type"): Refused(f"the kind of a window {_BY_QUERY}", "write WINDOW TUMBLING(5m), SLIDING(15m, 1m) or SESSION(30m)"),
    ("windowing", "key_by"): Refused(f"what is grouped {_BY_QUERY}", "write GROUP BY model"),
    ("watermarks", "strategy"): Refused(
        "where nothing else is written, the watermark is the greatest time less a delay",
        "watermark: {delay: 5s}, or WITH WATERMARK in the query",
    ),
    ("checkpointing", "enabled"): Refused("state is saved with every batch, or results would not be exactly once", _LEAVE),
    ("checkpointing", "mode"): Refused("there is one mode: each batch is exactly once", _LEAVE),
    ("checkpointing", "timeout_seconds"): Refused("a save is part of its batch: it is there, or the batch runs again", _LEAVE),
}
_COLD = Refused(
    "what windows said is kept in files beside the state; a database gets it where the query writes it",
    "cold: {ttl_seconds: 2592000}, or sinks: {NAME: {connector: postgres, url: ..., table: ...}}",
)
_TTL = Refused(
    "the state of a window is kept until it has closed and its lateness is over",
    "lateness: 2m, or for a group without a window WITH ('state.ttl' = '1d') in the query",
)
_PLACE = Refused("all the state of a job lives in one folder", "state: {root: /var/lib/windrow}")


def answer_for(path: Path, text: str) -> Answer | None:
    """What a key is here; None for one that nobody knows.

    >>> answer_for(("windowing", "performance_metrics", "size"), "5m")
    Mapped(path=('windows', 'performance_metrics', 'size'), text='5m')
    >>> answer_for(("watermarks", "idle_timeout_seconds"), "300")
    Mapped(path=('watermark', 'idle_timeout'), text='300s')
    >>> answer_for(("state", "hot.max_size_mb"), "512")
    Mapped(path=('state', 'resident.max_bytes'), text='536870912')
    """
    head, last = path[0], path[-1]
    reason = _REASONS.get((head, last))
    if reason is not None:
        return reason
    if head == "windowing" and last in ("emit_interval", "trigger_interval"):
        return Mapped(("windows", path[1], "trigger"), f"EVERY {text} OR ON WATERMARK")
    if head in _DURATIONS:
        return _duration(head, path, text)
    if head == "checkpointing":
        return _checkpointing(last, text)
    tier, _, rest = last.partition(".")
    return _tier(tier, rest, text)


def known_keys(head: str) -> list[str]:
    """What can be written there, for hints."""
    reasons = [last for first, last in _REASONS if first == head]
    if head == "checkpointing":
        return ["interval_seconds", "interval", "retained", "path", *reasons]
    if head in _DURATIONS:
        found = [*(spelling for spellings, _ in _DURATIONS[head] for spelling in spellings), "emit_interval", *reasons]
        return list(dict.fromkeys(found))
    return [f"{tier}.{key}" for tier in TIERS for key in ("max_size_mb", "ttl_seconds", "path")]


def _duration(head: str, path: Path, text: str) -> Answer | None:
    last, unit = path[-1], ""
    for suffix, short in _UNITS.items():
        if last.endswith(suffix):
            last, unit = last.removesuffix(suffix), short
    for spellings, target in _DURATIONS[head]:
        if last in spellings:
            value = text + unit
            name = path[1] if len(path) > 2 else ""
            return Mapped(tuple(name if one == "*" else one for one in target), value if parse_duration(value) is not None else None)
    return None


def _checkpointing(last: str, text: str) -> Answer | None:
    if last in ("interval_seconds", "interval", "interval_ms"):
        micros = parse_duration(text + _UNITS.get(last.removeprefix("interval"), ""))
        return Mapped(CHECKPOINT_SECONDS, None if not micros else str(max(1, ceil(micros / 1_000_000))))
    if last in ("retained", "max_retained", "num_retained", "retain"):
        return Mapped(("state", "retain.batches"), text if text.isdecimal() and int(text) > 0 else None)
    return Mapped(("state", "root"), text) if last in ("path", "directory", "location", "dir") else None


def _tier(tier: str, rest: str, text: str) -> Answer | None:
    if rest in ("path", "directory", "backend", "type", "storage"):
        return _PLACE
    if "ttl" in rest or "retention" in rest:
        return _TTL if tier != "cold" else Mapped(("state", "history.seconds"), _seconds(rest, text))
    size = _SIZE.fullmatch(rest)
    if size is not None and (size[1] or "").startswith(("max", "size", "limit", "memory")):
        # The driver's share, all of it, and what closed windows said.
        path: Path = ("state", {"hot": "resident.max_bytes", "warm": "max_bytes", "cold": "history.max_bytes"}[tier])
        number = int(text) * _BYTES[size[2]] if text.isdecimal() else 0
        return Mapped(path, str(number) if number else None)
    if tier == "cold":
        return _COLD
    if rest == "enabled":
        # Without executors' state, all of it stays in the driver.
        home: Callable[[bool], str] = lambda yes: "auto" if yes else "resident" if tier == "warm" else "distributed"  # noqa: E731
        return Mapped(("state", "home"), home(text.lower() == "true") if text.lower() in ("true", "false") else None)
    return None


def _seconds(key: str, text: str) -> str | None:
    """
    >>> _seconds("ttl_seconds", "60"), _seconds("retention_days", "2"), _seconds("retention", "7d"), _seconds("ttl", "soon")
    ('60', '172800', '604800', None)
    """
    unit = next((short for suffix, short in (*_UNITS.items(), ("_days", "d")) if key.endswith(suffix)), "")
    micros = parse_duration(text + unit)
    return None if not micros else str(max(1, micros // 1_000_000))


def batches_between(seconds: int, trigger_interval: str | None) -> str:
    """How many batches lie between two snapshots that are so far apart; without an interval, a batch is taken to last a second.

    >>> batches_between(60, "10s"), batches_between(60, None), batches_between(5, "1m")
    ('6', '60', '1')
    """
    micros = parse_duration(trigger_interval or "1s") or 1_000_000
    return str(max(1, seconds * 1_000_000 // micros))
