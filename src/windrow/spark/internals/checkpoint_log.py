"""Entries of Spark's own checkpoint: text that Spark does not promise, and that nothing public tells.

They are needed: what time a batch has, how far it reads each source, and which files were promised to none is written nowhere else. So
the version of an entry is looked at before anything is taken from it, and one of another version is refused.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from windrow.errors import JobError

UNKNOWN_LOG = "WR817"
_VERSION = "v1"
_NOTHING = "-"


class DamagedEntryError(Exception):
    """An entry that is cut short, or no text of Spark's."""


@dataclass(frozen=True)
class OffsetEntry:
    """What Spark notes of a batch before it runs. ``lines`` hold how far it reads each source, in the order of the query."""

    about: dict[str, Any]
    lines: tuple[str, ...]

    @staticmethod
    def parse(text: str, place: str) -> OffsetEntry:
        """
        >>> OffsetEntry.parse('v1\\n{"batchTimestampMs":5}\\n{"logOffset":2}\\n-', "offsets/0").offsets
        [{'logOffset': 2}, {}]
        """
        lines = text.splitlines()
        need_version(lines[0] if lines else "", place)
        if len(lines) < 2:
            raise DamagedEntryError
        about = _object(lines[1])
        if about is None:
            raise DamagedEntryError
        return OffsetEntry(about, tuple(lines[2:]))

    @property
    def arrival_ms(self) -> int:
        """When the batch was planned, which stays the same when it runs again."""
        noted = self.about.get("batchTimestampMs")
        if noted is None:
            raise DamagedEntryError
        return int(noted)

    @property
    def offsets(self) -> list[dict[str, Any]]:
        """Empty for a source of which nothing is noted, or in another way than by fields."""
        return [_object(line) or {} for line in self.lines]

    def text_at(self, now_ms: int) -> str:
        """The entry of another batch, which reads nothing more, at another time."""
        return replace(self, about={**self.about, "batchTimestampMs": now_ms}).text

    @property
    def text(self) -> str:
        return "\n".join([_VERSION, json.dumps(self.about, separators=(",", ":")), *self.lines])

    def rearranged(self, places: Sequence[int | None]) -> OffsetEntry:
        """The entry of other sources: what each of them was at before, None for those that are new.

        >>> OffsetEntry({}, ("{}", "5")).rearranged([None, 0]).lines
        ('-', '{}')
        """
        known = dict(enumerate(self.lines))
        return replace(self, lines=tuple(_NOTHING if place is None else known.get(place, _NOTHING) for place in places))

    def with_sources(self, count: int, *, has_last: bool) -> OffsetEntry:
        """The entry with so many sources and one more, or without that one. Of one that is new nothing has been read.

        >>> OffsetEntry({}, ("{}", "5")).with_sources(1, has_last=False).lines
        ('{}',)
        >>> OffsetEntry({}, ("{}",)).with_sources(1, has_last=True).lines
        ('{}', '-')
        """
        if len(self.lines) not in (count, count + 1) or len(self.lines) == count + has_last:
            return self
        return replace(self, lines=(*self.lines[:count], *((_NOTHING,) if has_last else ())))


def need_version(line: str, place: str) -> None:
    """Raise unless an entry begins as those that are understood.

    >>> need_version("v1", "commits/3")
    >>> need_version("v2", "offsets/3")
    Traceback (most recent call last):
    windrow.errors.JobError: [WR817] Spark wrote offsets/3 as "v2", and only "v1" is understood
      hint: run with the version of Spark that wrote the checkpoint before, or start with a new --state folder
    """
    if line.strip() == _VERSION:
        return
    if not line.startswith("v"):
        raise DamagedEntryError
    hint = "run with the version of Spark that wrote the checkpoint before, or start with a new --state folder"
    raise JobError(UNKNOWN_LOG, f'Spark wrote {place} as "{line.strip()}", and only "{_VERSION}" is understood', hint)


def lists_files(entry: bytes) -> bool:
    """Whether an entry of a source's own log names files. Other sources keep in the same place where they began."""
    return entry.partition(b"\n")[2].startswith(b'{"path"')


def _object(line: str) -> dict[str, Any] | None:
    if line == _NOTHING or not line.startswith("{"):
        return None
    try:
        found = json.loads(line)
    except ValueError:
        raise DamagedEntryError from None
    return found if isinstance(found, dict) else None
