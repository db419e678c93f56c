"""The WITH ( 'key' = 'value' ) list, as written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from windrow.model.expr import Node
from windrow.model.place import Span


@dataclass(frozen=True)
class Option(Node):
    """One entry. ``span`` covers the key, ``value_span`` the value."""

    key: str
    value: str
    value_span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Options(Node):
    entries: tuple[Option, ...] = ()

    def get(self, key: str, default: str | None = None) -> str | None:
        """The value of a key, keys matching case-insensitively."""
        entry = self.find(key)
        return default if entry is None else entry.value

    def find(self, key: str) -> Option | None:
        return next((entry for entry in self.entries if entry.key.lower() == key.lower()), None)

    def __iter__(self) -> Iterator[Option]:
        return iter(self.entries)

    def __bool__(self) -> bool:
        return bool(self.entries)
