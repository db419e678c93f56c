"""All tables of a signal for one window and partition: the rows themselves and, by exact id, all that belongs to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from windrow.otap.covers import RESOURCES, SCOPES, Covering
from windrow.otap.discovery import DataFile, Discovery, with_ids
from windrow.otap.layout import Base
from windrow.otap.tables import TABLES
from windrow.otap.timing import Window
from windrow.otap.windows import RESOURCE_OWNER, SCOPE_OWNER, Reading, Seen, WindowReader, plain

# The tables with a time that a signal's windows are made of, and its root.
ROOTS = {"logs": "logs", "traces": "spans", "metrics": "univariate_metrics"}
_POINTS = ("number_data_points", "summary_data_points", "histogram_data_points", "exp_histogram_data_points")
_TIMED = {"logs": ("logs",), "traces": ("spans",), "metrics": _POINTS}

Tables = dict[str, pa.Table]
Choose = Callable[[pa.Table], pa.Table]


class Collector:
    """A folder as it is now. ``choose`` filters the rows of a window; what belongs to rows it leaves out is left out too."""

    def __init__(self, base: Base, discovery: Discovery, signal: str, reading: Reading, choose: Choose = lambda rows: rows) -> None:
        self._base = base
        self._discovery = discovery
        self._signal = signal
        self._root = ROOTS[signal]
        self._choose = choose
        self._readings = [replace(reading, table=table, columns=None) for table in _TIMED[signal]]
        self.files: dict[str, list[DataFile]] = {one.table: discovery.timed_files(one.table) for one in self._readings}
        self._covering = {one.table: Covering(discovery, one.table, one.ids) for one in self._readings}
        children = [name for name, kind in TABLES.items() if "parent_id" in kind.schema.names]
        self._by_parent = {name: discovery.files_by_id(name, "parent_id") for name in children}
        self.seen = Seen()

    def windows(self, window: Window) -> Iterator[tuple[str, Tables]]:
        """The partitions that have rows in a window, each with its tables."""
        by_part: dict[str, list[Tables]] = {}
        for reading in self._readings:
            for cover in self._covering[reading.table].covers(self.files[reading.table], window):
                reader = WindowReader(self._base, reading)
                rows = reader.read(cover)
                self._note(reader.seen)
                rows = None if rows is None else self._choose(rows)
                if rows is not None and rows.num_rows:
                    by_part.setdefault(cover.part_id, []).append({reading.table: rows})
        for part in sorted(by_part):
            yield part, self._complete(part, _merged(by_part[part]))

    def _note(self, seen: Seen) -> None:
        self.seen.bytes += seen.bytes
        self.seen.ambiguous += seen.ambiguous
        self.seen.missing |= seen.missing
        self.seen.faults.update(seen.faults)

    def _complete(self, part: str, found: Tables) -> Tables:
        if self._root not in found:
            found[self._root] = _roots_of(found)
        for table in list(found):
            self._add_children(table, part, found)
        root = found[self._root]
        for origin, owner in ((RESOURCES, RESOURCE_OWNER), (SCOPES, SCOPE_OWNER)):
            rows = self._rows(origin, part, root[owner])
            if rows is not None:
                found[origin] = rows
        return found

    def _add_children(self, table: str, part: str, found: Tables) -> None:
        for name, kind in TABLES.items():
            if kind.parent != table or name in _POINTS:
                continue
            rows = self._rows(name, part, found[table]["id"])
            if rows is not None:
                found[name] = rows
                if "id" in rows.column_names:
                    self._add_children(name, part, found)

    def _rows(self, table: str, part: str, owners: pa.ChunkedArray) -> pa.Table | None:
        """The rows of a table whose parent is one of the owners."""
        wanted = owners.cast(pa.uint32()).drop_null().unique()
        if not len(wanted):
            return None
        bounds = pc.min_max(wanted).as_py()
        parts = []
        for file in with_ids(self._by_parent[table].get(part, []), (bounds["min"], bounds["max"])):
            try:
                with self._base.open(file.path) as source, pq.ParquetFile(source) as parquet:
                    rows = plain(parquet.read())
                    parts.append(rows.filter(pc.is_in(rows["parent_id"].cast(pa.uint32()), wanted)))
            except (pa.ArrowException, OSError, ValueError) as error:
                self.seen.faults[file.path] = self._base.damage(error)
        rows = pa.concat_tables(parts, promote_options="permissive") if parts else None
        return rows if rows is not None and rows.num_rows else None


def _merged(parts: list[Tables]) -> Tables:
    names = {name for part in parts for name in part}
    return {name: pa.concat_tables([part[name] for part in parts if name in part], promote_options="permissive") for name in sorted(names)}


def _roots_of(points: Tables) -> pa.Table:
    """The metrics of data points, from what the points took over of them."""
    names = {"parent_id": "id", "metric_name": "name", "metric_unit": "unit", "metric_description": "description"}
    kept = ["parent_id", "metric_type", "metric_name", "metric_unit", "metric_description", "aggregation_temporality", "resource", "scope"]
    parts = [table.select([*kept, RESOURCE_OWNER, SCOPE_OWNER]) for table in points.values() if RESOURCE_OWNER in table.column_names]
    rows = pa.concat_tables(parts, promote_options="permissive") if parts else None
    if rows is None:
        raise ValueError("no file with the metrics of these data points is there")
    rows = rows.rename_columns([names.get(name, name) for name in rows.column_names])
    first = pc.index_in(rows["id"].unique(), rows["id"].combine_chunks())
    return rows.take(first)
