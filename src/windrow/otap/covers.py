"""The files of a window, cut into shares that can be read independently of each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from windrow.otap.discovery import ByPart, DataFile, Discovery, covering, with_ids
from windrow.otap.footers import Bounds
from windrow.otap.nested import LISTS
from windrow.otap.origins import ResourceIds
from windrow.otap.tables import TABLES, attributes_of, timed_by
from windrow.otap.timing import Window

RESOURCES, SCOPES = "resource_attrs", "scope_attrs"
# A share has no more bytes of its own table than this, unless one file alone has.
_SHARE = 64 * 2**20


@dataclass(frozen=True)
class Cover:
    """Rows of one window and partition: files of the table itself, and files of other tables that may belong to its rows.

    Each file of the table comes with its least and greatest time; a row without any time is placed at the least.
    """

    window: Window
    part_id: str
    files: tuple[tuple[str, int, int], ...]
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        others = {name: list(paths) for name, paths in self.others.items()}
        return {"window": [self.window.start, self.window.end], "part": self.part_id, "files": list(self.files), "others": others}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Cover:
        files = tuple((path, least, greatest) for path, least, greatest in data["files"])
        others = {name: tuple(paths) for name, paths in data["others"].items()}
        return Cover(Window(*data["window"]), data["part"], files, others)


def lineage_of(table: str) -> tuple[str, ...]:
    """A table and those above it, up to the one that knows resource and scope.

    >>> lineage_of("number_dp_exemplars")
    ('number_dp_exemplars', 'number_data_points', 'univariate_metrics')
    """
    parent = TABLES[table].parent
    return (table,) if parent is None else (table, *lineage_of(parent))


class Covering:
    """Plans covers from a folder as it is now: one listing of every table that is needed, however many windows there are."""

    def __init__(self, discovery: Discovery, table: str, ids: ResourceIds) -> None:
        table = timed_by(table)
        self._ids = ids
        self._lineage = lineage_of(table)
        self._by_id: dict[str, ByPart] = {}
        self._by_parent: dict[str, ByPart] = {}
        for own in self._lineage:
            if own != table:
                self._by_id[own] = discovery.files_by_id(own, "id")
                self._by_parent[own] = discovery.files_by_id(own, "parent_id")
            attributes = attributes_of(own)
            if attributes is not None:
                self._by_parent[attributes] = discovery.files_by_id(attributes, "parent_id")
        for below in LISTS.get(table, {}).values():
            self._by_id[below] = discovery.files_by_id(below, "id")
            for name in filter(None, (below, attributes_of(below))):
                self._by_parent[name] = discovery.files_by_id(name, "parent_id")
        nested = ("resource", "scope") if ids == "partition_unique" else ()
        self._nested = {name: discovery.files_by_id(self._lineage[-1], f"{name}.id") for name in nested}
        for origin in (RESOURCES, SCOPES):
            self._by_parent[origin] = discovery.files_by_id(origin, "parent_id")

    def files_of(self, table: str) -> ByPart:
        """All files of a table that belongs to the covered one, by partition, with the ids of their rows' parents."""
        return self._by_parent[table]

    def covers(self, files: Iterable[DataFile], window: Window) -> list[Cover]:
        """The shares of a window, those of each partition together."""
        by_part: dict[str, list[DataFile]] = {}
        for file in covering(files, window):
            by_part.setdefault(file.listed.part_id, []).append(file)
        return [self._cover(window, part, share) for part in sorted(by_part) for share in _shares(by_part[part])]

    def _cover(self, window: Window, part: str, share: list[DataFile]) -> Cover:
        others: dict[str, tuple[str, ...]] = {}
        roots = [file.path for file in share]
        ids = _joined([file.footer.bounds.get("id") for file in share])
        parents = _joined([file.footer.bounds.get("parent_id") for file in share])
        for below in LISTS.get(self._lineage[0], {}).values():
            others.update(self._below(below, part, ids))
        for own in self._lineage:
            if own != self._lineage[0]:
                ids = parents
                chosen = with_ids(self._by_id[own].get(part, []), ids)
                others[own] = tuple(file.path for file in chosen)
                roots = [file.path for file in chosen]
                above = dict(self._by_parent[own].get(part, []))
                parents = _joined([above.get(file) for file in chosen])
            attributes = attributes_of(own)
            if attributes is not None:
                others[attributes] = self._with_parents(attributes, part, ids)
        for name, origin in (("resource", RESOURCES), ("scope", SCOPES)):
            others[origin] = self._origins(name, origin, part, roots, ids)
        covered = tuple((file.path, *file.times) for file in share if file.times is not None)
        return Cover(window, part, covered, others)

    def _below(self, table: str, part: str, ids: Bounds | None) -> dict[str, tuple[str, ...]]:
        """The files of a table that may belong to rows with these ids, and those of its attributes."""
        chosen = with_ids(self._by_parent[table].get(part, []), ids)
        found = {table: tuple(file.path for file in chosen)}
        attributes = attributes_of(table)
        if attributes is not None:
            bounds = dict(self._by_id[table].get(part, []))
            found[attributes] = self._with_parents(attributes, part, _joined([bounds.get(file) for file in chosen]))
        return found

    def _with_parents(self, table: str, part: str, ids: Bounds | None) -> tuple[str, ...]:
        return tuple(file.path for file in with_ids(self._by_parent[table].get(part, []), ids))

    def _origins(self, name: str, origin: str, part: str, roots: list[str], ids: Bounds | None) -> tuple[str, ...]:
        if self._ids == "partition_unique":
            nested = {file.path: bounds for file, bounds in self._nested[name].get(part, [])}
            return self._with_parents(origin, part, _joined([nested.get(path) for path in roots]))
        # The batch of a row starts at or below its id: the files up to there, and of those below it only the nearest.
        if ids is None:
            return ()
        files = sorted(self._by_parent[origin].get(part, []), key=lambda one: one[1] or (0, ids[1]))
        below = [file for file, own in files if own is not None and own[1] < ids[0]]
        around = [file for file, own in files if own is None or (own[1] >= ids[0] and own[0] <= ids[1])]
        return tuple(file.path for file in [*below[-1:], *around])


def _joined(bounds: list[Bounds | None]) -> Bounds | None:
    known = [own for own in bounds if own is not None]
    return (min(low for low, _ in known), max(high for _, high in known)) if known else None


def _shares(files: list[DataFile]) -> list[list[DataFile]]:
    shares: list[list[DataFile]] = []
    size = _SHARE
    for file in files:
        if size + file.listed.size > _SHARE:
            shares.append([])
            size = 0
        shares[-1].append(file)
        size += file.listed.size
    return shares
