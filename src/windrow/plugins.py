"""Packages of others: connectors, aggregates and functions that an installed package brings by an entry point.

A package names them in its ``pyproject.toml``::

    [project.entry-points."windrow.connectors"]
    sqlite = "my_package.spec:SQLITE"                 # a windrow.connectors.spec.ConnectorSpec

    [project.entry-points."windrow.aggregates"]
    harmonic_mean = "my_package.means:HARMONIC_MEAN"  # a windrow.aggregates.Aggregate with a signature

    [project.entry-points."windrow.functions"]
    slug = "my_package.text:SLUG"                     # a windrow.catalog.python_functions.ScalarFunction

Entry points are looked at when a name is asked for that Windrow does not have itself, so a run without plugins pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from windrow.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

CONNECTORS = "windrow.connectors"
AGGREGATES = "windrow.aggregates"
FUNCTIONS = "windrow.functions"

T = TypeVar("T")


@cache
def entry_points_of(group: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    """By lower-case name; several where more than one package brings the same."""
    from importlib.metadata import entry_points  # takes 20 ms: only a file that names something unknown pays them

    found: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in entry_points(group=group):
        found[entry.name.lower()] = (*found.get(entry.name.lower(), ()), entry)
    return found


def load_plugin(group: str, name: str, kind: type[T]) -> T | None:
    """What a package brings under this name; None where there is no such package.

    Raises ``UsageError`` (WR650) where it cannot be loaded or is not what it should be.
    """
    entries = entry_points_of(group).get(name.lower(), ())
    if not entries:
        return None
    if len(entries) > 1:
        packages = ", ".join(sorted(_package(entry) for entry in entries))
        raise UsageError("WR650", f'several packages bring "{name}" as {group}: {packages}', "uninstall all but one of them")
    [entry] = entries
    try:
        found: Any = entry.load()
    except Exception as error:  # a stranger's module may raise anything
        reason = next(iter(str(error).splitlines()), "")
        message = f'"{name}" of the package {_package(entry)} cannot be loaded: {type(error).__name__}: {reason}'
        raise UsageError("WR650", message, f"try it by itself: python -c 'import {entry.module}'") from error
    if not isinstance(found, kind):
        message = f'"{name}" of the package {_package(entry)} is a {type(found).__name__}, and a {kind.__name__} is needed'
        raise UsageError("WR650", message, f"let {entry.value} be a {kind.__module__}.{kind.__qualname__}")
    return found


def _package(entry: EntryPoint) -> str:
    return "unknown" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


class Registry(Mapping[str, T], Generic[T]):
    """What Windrow has itself, and what packages bring. A name of Windrow's own cannot be taken by a package.

    ``spelled`` is how a name is written in ``own``.
    """

    def __init__(self, group: str, kind: type[T], own: Mapping[str, T], spelled: Callable[[str], str] = str.lower) -> None:
        self._group = group
        self._kind = kind
        self._own = own
        self._spelled = spelled

    def __getitem__(self, name: str) -> T:
        if name in self._own:
            return self._own[name]
        found = load_plugin(self._group, name, self._kind)
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from (spelled for name in entry_points_of(self._group) if (spelled := self._spelled(name)) not in self._own)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._own or (isinstance(name, str) and name.lower() in entry_points_of(self._group))

    def own(self) -> Mapping[str, T]:
        """Without what packages bring."""
        return self._own
