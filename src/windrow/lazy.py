"""Modules that are imported when something of them is first used: checking a file needs none of the libraries that run it."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """
    >>> json = LazyModule("json")
    >>> json.dumps([1])
    '[1]'
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        found = getattr(import_module(self._name), name)
        # The next use does not come here.
        setattr(self, name, found)
        return found

    def __reduce__(self) -> tuple[type[LazyModule], tuple[str]]:
        return LazyModule, (self._name,)
