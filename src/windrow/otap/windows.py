"""The rows of a window as an Arrow table: with their time, their attributes, and what the tables above them say of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from windrow.otap import attributes
from windrow.otap.covers import RESOURCES, SCOPES, Cover, lineage_of
from windrow.otap.discovery import TimeRule
from windrow.otap.footers import DURATION, OBSERVED, START, TIME, TIME_ALIAS, Bounds
from windrow.otap.layout import Base
from windrow.otap.nested import ATTRIBUTES, LISTS, lists_for
from windrow.otap.origins import ResourceIds, find_owners
from windrow.otap.tables import TABLES, attributes_of
from windrow.otap.timing import Window

EVENT_TIME, FILE, ROW, PLACED = "_event_time_ns", "_file", "_row", "_placed"
RESOURCE_OWNER, SCOPE_OWNER, AMBIGUOUS = "_resource_owner", "_scope_owner", "_ambiguous"
# What rows take over from the tables above them: their name for it, and its name up there.
INHERITED: dict[str, dict[str, str]] = {
    "spans": {"trace_id": "trace_id", "span_id": "span_id", "span_name": "name"},
    "univariate_metrics": {
        "metric_name": "name",
        "metric_type": "metric_type",
        "metric_unit": "unit",
        "metric_description": "description",
        "aggregation_temporality": "aggregation_temporality",
    },
}
RESOURCE_ATTRIBUTES, SCOPE_ATTRIBUTES = "resource_attributes", "scope_attributes"
_FROM_ROOT = ("resource", "scope", RESOURCE_OWNER, SCOPE_OWNER, AMBIGUOUS)
BY_DEFAULT = TimeRule()
_IDS = ("id", "parent_id", "resource", "scope")


@dataclass(frozen=True)
class Reading:
    """What is wanted of a table: ``columns`` are names of the SQL stream; None stands for all."""

    table: str
    rule: TimeRule = BY_DEFAULT
    ids: ResourceIds = "batch_local"
    columns: frozenset[str] | None = None

    def wants(self, *names: str) -> bool:
        return self.columns is None or any(name in self.columns for name in names)


@dataclass
class Seen:
    """What reading came across: faults by file, rows whose resource is not certain, bytes taken from disk."""

    bytes: int = 0
    ambiguous: int = 0
    faults: dict[str, str] = field(default_factory=dict)
    missing: set[str] = field(default_factory=set)


class WindowReader:
    """Reads covers of one table."""

    def __init__(self, base: Base, reading: Reading) -> None:
        self._base = base
        self._reading = reading
        self._lineage = lineage_of(reading.table)
        self._parents: tuple[Cover, pl.Series] | None = None
        self.seen = Seen()

    def read(self, cover: Cover) -> pa.Table | None:
        """The rows of a cover that fall into its window, or None where there are none.

        A file that cannot be read is noted and left out: the rest goes on.
        """
        parts = []
        for path, least, greatest in cover.files:
            try:
                parts.append(self._own_rows(path, (least, greatest), cover))
            except (pa.ArrowException, OSError, ValueError) as error:
                self.seen.faults[path] = self._base.damage(error)
        rows = pa.concat_tables(parts, promote_options="permissive") if parts else None
        if rows is None or not rows.num_rows:
            return None
        if self._wants_above():
            rows = self._with_ancestors(rows, cover)
        if AMBIGUOUS in rows.column_names:
            self.seen.ambiguous += pc.sum(rows[AMBIGUOUS]).as_py() or 0
        return self._with_lists(self._with_attributes(rows, cover), cover)

    def rows_below(self, table: str, owners: pa.ChunkedArray, cover: Cover) -> pa.Table | None:
        """The rows of another table whose parents are among the owners, with their attributes, in the order of their files."""
        wanted = owners.cast(pa.uint32()).drop_null().unique()
        paths = cover.others.get(table, ())
        parts = []
        for path in paths:
            for rows in self._tables((path,), TABLES[table].schema.names, "parent_id", _range(wanted)):
                placed = rows.append_column(FILE, pa.repeat(path, rows.num_rows)).append_column(ROW, numbers(rows.num_rows))
                parts.append(placed.filter(pc.is_in(rows["parent_id"].cast(pa.uint32()), wanted)))
        found = pa.concat_tables(parts, promote_options="permissive") if parts else None
        if found is None or not found.num_rows:
            return None
        below = attributes_of(table)
        attached = self._tables(cover.others.get(below or "", ()), attributes.COLUMNS, "parent_id", _range(found["id"]))
        return found.append_column(ATTRIBUTES, attributes.maps_for(found["id"], attached))

    def _with_lists(self, rows: pa.Table, cover: Cover) -> pa.Table:
        for name, table in LISTS.get(self._reading.table, {}).items():
            if self._reading.wants(name):
                rows = rows.append_column(name, lists_for(rows["id"], self.rows_below(table, rows["id"], cover), table))
        return rows

    def _own_rows(self, path: str, times: Bounds, cover: Cover) -> pa.Table:
        wanted = [name for name in TABLES[self._reading.table].schema.names if self._reading.wants(name)]
        needed = [*wanted, *self._own_ids(), TIME, TIME_ALIAS, OBSERVED, START, DURATION]
        with self._base.open(path) as source, pq.ParquetFile(source) as file:
            rows = self._row_groups(file, needed, partial(_may_hold, file.metadata, cover.window))
        rows = rows.append_column(ROW, numbers(rows.num_rows))
        time = row_times(rows, self._reading.rule)
        if len(self._lineage) == 1 and self._wants_origin():
            rows = self._with_owners(rows, cover)
        placed = pc.fill_null(time, times[0])
        outside = pc.sum(pc.or_(pc.less(placed, times[0]), pc.greater(placed, times[1]))).as_py()
        if outside:
            # Only where the footer says nothing and the name says something else.
            self.seen.faults[path] = f"{outside} rows lie outside of the times that its name stands for: they are never read"
        inside = pc.and_(pc.greater_equal(placed, cover.window.start), pc.less(placed, cover.window.end))
        rows = rows.append_column(EVENT_TIME, time).append_column(PLACED, placed).filter(inside)
        return rows.append_column(FILE, pa.repeat(path, rows.num_rows))

    def _row_groups(self, file: pq.ParquetFile, columns: Sequence[str], may_hold: Callable[[int], bool]) -> pa.Table:
        names = [name for name in dict.fromkeys(columns) if name in file.schema_arrow.names]
        groups = [group for group in range(file.metadata.num_row_groups) if may_hold(group)]
        self.seen.bytes += _bytes_of(file.metadata, groups, set(names))
        # What runs side by side are the shares of a batch: threads inside of one would only wait for each other.
        return plain(file.read_row_groups(groups, columns=names, use_threads=False))

    def _tables(self, paths: Sequence[str], columns: Sequence[str], column: str, ids: tuple[int, int] | None) -> Iterator[pa.Table]:
        """The rows of other tables' files that may have one of the ids in a column."""
        for path in paths if ids is not None else ():
            try:
                with self._base.open(path) as source, pq.ParquetFile(source) as file:
                    yield self._row_groups(file, columns, partial(_may_have, file.metadata, column, ids))
            except (pa.ArrowException, OSError, ValueError) as error:
                self.seen.faults[path] = self._base.damage(error)

    def _with_ancestors(self, rows: pa.Table, cover: Cover) -> pa.Table:
        """Columns of the tables above, found by id."""
        link = "parent_id"
        for table in self._lineage[1:]:
            is_root = table == self._lineage[-1]
            inherited = {own: theirs for own, theirs in INHERITED.get(table, {}).items() if own not in rows.column_names}
            above = self._ancestor_rows(table, rows[link], cover, [*inherited.values(), *_IDS])
            if above is None:
                self.seen.missing.add(table)
                rows = rows.append_column(_link(table), pa.nulls(rows.num_rows, pa.uint32()))
                link = _link(table)
                continue
            place = pc.index_in(rows[link].cast(pa.uint32()), above["id"].cast(pa.uint32()))
            if is_root and self._wants_origin():
                above = self._with_owners(above, cover)
            taken = {own: above[theirs] for own, theirs in inherited.items()}
            if is_root:
                taken.update({name: above[name] for name in _FROM_ROOT if name in above.column_names})
            else:
                taken[_link(table)] = above["parent_id"]
            for name, column in taken.items():
                rows = rows.append_column(name, column.take(place))
            link = _link(table)
        return rows

    def _ancestor_rows(self, table: str, ids: pa.ChunkedArray, cover: Cover, columns: Sequence[str]) -> pa.Table | None:
        found = list(self._tables(cover.others.get(table, ()), columns, "id", _range(ids)))
        return pa.concat_tables(found, promote_options="permissive") if found else None

    def _own_ids(self) -> list[str]:
        """The columns by which other tables belong to a row, where any of them is wanted."""
        own = ["id"] if self._reading.wants(ATTRIBUTES, *LISTS.get(self._reading.table, ())) else []
        if len(self._lineage) > 1:
            return [*own, "parent_id"] if self._wants_above() else own
        return ["id", "resource", "scope"] if self._wants_origin() else own

    def _wants_above(self) -> bool:
        inherited = [name for table in self._lineage[1:] for name in INHERITED.get(table, {})]
        return len(self._lineage) > 1 and (self._wants_origin() or self._reading.wants("resource", "scope", *inherited))

    def _wants_origin(self) -> bool:
        return self._reading.wants(RESOURCE_ATTRIBUTES, SCOPE_ATTRIBUTES)

    def _with_owners(self, rows: pa.Table, cover: Cover) -> pa.Table:
        """Root rows with the parent ids of their resource's and scope's attributes."""
        nested = {name: pc.struct_field(rows[name], "id") for name in ("resource", "scope")}
        ids = pl.DataFrame({"id": pl.from_arrow(rows["id"]), **{name: pl.from_arrow(column) for name, column in nested.items()}})
        owners = find_owners(ids, self._resource_parents(cover), self._reading.ids)
        rows = rows.append_column(AMBIGUOUS, owners["is_ambiguous"].to_arrow())
        rows = rows.append_column(RESOURCE_OWNER, owners["resource_owner"].cast(pl.UInt32).to_arrow())
        return rows.append_column(SCOPE_OWNER, owners["scope_owner"].cast(pl.UInt32).to_arrow())

    def _resource_parents(self, cover: Cover) -> pl.Series:
        """The parent ids of the resource attributes of a cover, read once for all of its files."""
        if self._parents is None or self._parents[0] is not cover:
            found = self._tables(cover.others.get(RESOURCES, ()), ["parent_id"], "parent_id", (0, 2**32))
            chunks = [chunk.cast(pa.uint32()) for table in found for chunk in table["parent_id"].chunks]
            self._parents = (cover, pl.Series(pl.from_arrow(pa.chunked_array(chunks, pa.uint32()))).unique())
        return self._parents[1]

    def _with_attributes(self, rows: pa.Table, cover: Cover) -> pa.Table:
        own = attributes_of(self._reading.table)
        wanted = [(ATTRIBUTES, own, "id"), (RESOURCE_ATTRIBUTES, RESOURCES, RESOURCE_OWNER), (SCOPE_ATTRIBUTES, SCOPES, SCOPE_OWNER)]
        for name, table, column in wanted:
            if table is None or not self._reading.wants(name):
                continue
            owners = rows[column] if column in rows.column_names else pa.nulls(rows.num_rows, pa.uint32())
            found = self._tables(cover.others.get(table, ()), attributes.COLUMNS, "parent_id", _range(owners))
            if not cover.others.get(table) and _range(owners) is not None:
                self.seen.missing.add(table)
            rows = rows.append_column(name, attributes.maps_for(owners, found))
        return rows


def numbers(count: int, first: int = 0) -> pa.Array:
    """
    >>> numbers(3, 7).to_pylist()
    [7, 8, 9]
    """
    return pl.int_range(first, first + count, eager=True).to_arrow()


def row_times(rows: pa.Table, rule: TimeRule) -> pa.ChunkedArray:
    """The time of each row in nanoseconds; null where it has none."""
    if START in rows.column_names and DURATION in rows.column_names:
        start = rows[START].cast(pa.int64())
        return start if rule.span_time == "start" else pc.add(start, rows[DURATION].cast(pa.int64()))
    own = _without_zero(rows[TIME if TIME in rows.column_names else TIME_ALIAS])
    if rule.falls_back and OBSERVED in rows.column_names:
        return pc.coalesce(own, _without_zero(rows[OBSERVED]))
    return own


def _without_zero(column: pa.ChunkedArray) -> pa.ChunkedArray:
    values = column.cast(pa.int64())
    return pc.if_else(pc.greater(values, 0), values, pa.scalar(None, pa.int64()))


def plain(table: pa.Table) -> pa.Table:
    """Dictionary columns as what they stand for: files of one table may differ in that."""
    for place, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(
                place, table.schema.field(place).with_type(column.type.value_type), column.cast(column.type.value_type)
            )
    return table


def _link(table: str) -> str:
    return f"_above_{table}"


def _range(ids: pa.ChunkedArray | pa.Array) -> tuple[int, int] | None:
    found = pc.min_max(ids).as_py()
    return None if found["min"] is None else (found["min"], found["max"])


def _statistics(metadata: pq.FileMetaData, group: int) -> Mapping[str, pq.Statistics]:
    chunks = (metadata.row_group(group).column(place) for place in range(metadata.num_columns))
    return {chunk.path_in_schema: chunk.statistics for chunk in chunks if chunk.is_stats_set and chunk.statistics.has_min_max}


def _may_hold(metadata: pq.FileMetaData, window: Window, group: int) -> bool:
    """Whether a row group may have a row of the window; where a row may have no time, or its time is a sum, it may."""
    known = _statistics(metadata, group)
    own = known.get(TIME) or known.get(TIME_ALIAS)
    if own is None or own.min_raw <= 0:
        return True
    return window.overlaps(own.min_raw, own.max_raw)


def _may_have(metadata: pq.FileMetaData, column: str, ids: tuple[int, int] | None, group: int) -> bool:
    own = _statistics(metadata, group).get(column)
    return own is None or ids is None or (own.min_raw <= ids[1] and own.max_raw >= ids[0])


def _bytes_of(metadata: pq.FileMetaData, groups: Sequence[int], names: set[str]) -> int:
    chunks = (metadata.row_group(group).column(place) for group in groups for place in range(metadata.num_columns))
    return sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema.partition(".")[0] in names)
