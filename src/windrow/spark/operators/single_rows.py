"""Rows that come to the driver one by one, with as little of each as will do: every value takes its time on the way out of the JVM.

What the driver can make of another column by itself does not come: the start of a row's window and what it moves the clocks to are made
of its time. Of most rows there is nothing to record but that they are there.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from windrow.model.fate import Fate
from windrow.model.window import IncludeInNext
from windrow.plan.sharing import fixed_of
from windrow.plan.stages import Aggregate
from windrow.spark.operators.partial_aggregation import ONE, PartialAggregation, judged_sql, row_columns
from windrow.spark.row_columns import CLOCK, INCLUDED, JUDGED, ROW, ROWS_COUNT, SOURCE_PARTITION, TIME, WATERMARK_NEUTRAL_FATES
from windrow.windowing.columns import SLICE

# Of a row that is set aside its fate and the row itself, NULL for all others: a NULL costs next to nothing.
_ASIDE = "_aside"
_BETWEEN = " "
# Where of so many rows less than one is left out, the others are not copied.
_FAR_BETWEEN = 1000


class SingleRows:
    """What is asked of each row of a stage.

    ``sources`` has every column that the step takes, with the one that holds its values in what ``kept`` gives; None where these are ones.
    """

    def __init__(self, stage: Aggregate, request: PartialAggregation) -> None:
        self._stage = stage
        self._partitions = request.partitions
        wanted = row_columns(stage, request)
        row, _ = wanted.pop(ROW), wanted.pop(JUDGED)
        # Many rows may be filtered out, and they carry nothing.
        filtered = f"WHEN {JUDGED} = {Fate.FILTERED.value} THEN '{Fate.FILTERED.value}{_BETWEEN}'"
        aside = f"CASE {filtered} WHEN {JUDGED} <> {Fate.OK.value} THEN concat({JUDGED}, '{_BETWEEN}', {row}) END"
        self._has_times = stage.time.punctuation is None and bool(request.partitions)
        # A source that accounts for one partition has rows of no other.
        is_of_one = request.is_direct and len(request.partitions) == 1
        self._has_partitions = self._has_times and request.partition_sql is not None and not is_of_one
        clocks = [f"{CLOCK}{p}" for p in request.partitions]
        selected = {name: sql for name, sql in wanted.items() if not self._is_made_here(name)}
        same = _left_out(selected)
        self.sources = {name: same.get(name, name) for name in wanted if name not in (ROWS_COUNT, INCLUDED, *clocks)}
        sent = {name: sql for name, sql in selected.items() if name not in same}
        sent |= {_ASIDE: aside} | ({SOURCE_PARTITION: request.partition_sql} if self._has_partitions and request.partition_sql else {})
        if self._has_times or (SLICE in wanted and SLICE not in selected and stage.window is not None):
            sent[TIME] = TIME
        self.sql = f"SELECT {', '.join(f'{sql} AS {name}' for name, sql in sent.items())} FROM ({judged_sql(stage, request)})"

    def _is_made_here(self, name: str) -> bool:
        if name.startswith(CLOCK):
            return self._has_times
        return name == SLICE and self._starts_by_time()

    def _starts_by_time(self) -> bool:
        """Whether a row's time alone says where the one window that takes it begins, or there is none."""
        fixed = fixed_of(self._stage)
        if fixed is None:
            return self._stage.window is None
        return not fixed.overlaps and self._stage.since is None and not isinstance(self._stage.late, IncludeInNext)

    def kept(self, arrived: pa.Table) -> pa.Table | None:
        """The rows that were not set aside, with what the step takes and nothing else."""
        wanted = {source for source in self.sources.values() if source is not None}
        here = [name for name in arrived.column_names if name in wanted or (name == TIME and self._starts_by_time())]
        rows = without(arrived.select(here), arrived[_ASIDE].is_valid())
        if not rows.num_rows:
            return None
        if self._starts_by_time():
            rows = rows.append_column(SLICE, self._starts(rows))
        return rows.select([name for name in rows.column_names if name in wanted])

    def _starts(self, rows: pa.Table) -> pa.Array:
        fixed = fixed_of(self._stage)
        if fixed is None:
            return pa.repeat(pa.scalar(0, pa.int64()), rows.num_rows)
        times = pl.Series(rows[TIME])
        return fixed.last_pane(times).to_arrow()

    def fates(self, arrived: pa.Table) -> pa.Table:
        """What is to be accounted for: one row for each that is set aside, and one for all others, or for those of each window."""
        columns = {name: arrived[name] for name in (ROWS_COUNT, INCLUDED) if name in arrived.column_names} | self._clocks(arrived)
        if ROWS_COUNT not in columns:
            columns[ROWS_COUNT] = pa.chunked_array([pa.repeat(pa.scalar(1, pa.int64()), arrived.num_rows)])
        by_window = self._stage.lateness > 0
        if by_window:
            columns[SLICE] = arrived[SLICE] if SLICE in arrived.column_names else pa.chunked_array([self._starts(arrived)])
        every, is_aside = pa.table(columns), arrived[_ASIDE].is_valid()
        others = without(every, is_aside)
        total = _by_window(others) if by_window else _total(others)
        total = total.append_column(JUDGED, pa.repeat(pa.scalar(Fate.OK.value, pa.int32()), total.num_rows))
        total = total.append_column(ROW, pa.repeat(pa.scalar("", pa.string()), total.num_rows))
        return pa.concat_tables([total, _set_aside(every.filter(is_aside), arrived[_ASIDE].drop_null())], promote_options="default")

    def _clocks(self, arrived: pa.Table) -> dict[str, pa.ChunkedArray]:
        """What each row moves the clock of each partition to."""
        if not self._has_times:
            return {name: arrived[name] for name in arrived.column_names if name.startswith(CLOCK)}
        if not self._has_partitions:
            return {f"{CLOCK}{p}": arrived[TIME] for p in self._partitions}
        none = pa.scalar(None, pa.int64())
        return {f"{CLOCK}{p}": pc.if_else(pc.equal(arrived[SOURCE_PARTITION], p), arrived[TIME], none) for p in self._partitions}


def without(rows: pa.Table, is_left_out: pa.ChunkedArray) -> pa.Table:
    """The other rows. Where few are left out, nothing is copied: they are stretches of what there is."""
    places = (
        pc.indices_nonzero(is_left_out).to_pylist() if pc.sum(is_left_out, min_count=0).as_py() * _FAR_BETWEEN < rows.num_rows else None
    )
    if places is None:
        return rows.filter(pc.invert(is_left_out))
    ends = zip([0, *(place + 1 for place in places)], [*places, rows.num_rows], strict=True)
    return pa.concat_tables([rows.slice(start, end - start) for start, end in ends if start < end]) if places else rows


def _how(name: str) -> str:
    return "max" if name.startswith(CLOCK) else "sum"


def _total(rows: pa.Table) -> pa.Table:
    """One row; none for no rows."""
    if not rows.num_rows:
        return rows
    whole = {name: pc.max(rows[name]) if _how(name) == "max" else pc.sum(rows[name]) for name in rows.column_names}
    return pa.table({name: pa.array([value.as_py()], rows[name].type) for name, value in whole.items()})


def _by_window(rows: pa.Table) -> pa.Table:
    others = [name for name in rows.column_names if name != SLICE]
    return rows.group_by(SLICE).aggregate([(name, _how(name)) for name in others]).rename_columns([SLICE, *others])


def _set_aside(rows: pa.Table, texts: pa.ChunkedArray) -> pa.Table:
    """Rows that were set aside, with what their texts say. Some do not move a clock."""
    parts = pl.Series(texts).cast(pl.String).str.splitn(_BETWEEN, 2).struct.unnest()
    fates = parts["field_0"].cast(pl.Int32).to_arrow()
    stands = pc.is_in(fates, pa.array([fate.value for fate in WATERMARK_NEUTRAL_FATES], pa.int32()))
    for place, name in enumerate(rows.column_names):
        if name.startswith(CLOCK):
            rows = rows.set_column(place, name, pc.if_else(stands, pa.scalar(None, pa.int64()), rows[name]))
    return rows.append_column(JUDGED, fates).append_column(ROW, parts["field_1"].to_arrow().cast(pa.string()))


def _left_out(columns: Mapping[str, str]) -> dict[str, str | None]:
    """Columns that hold what another does, by its name, or ones (None).

    >>> _left_out({"a": "x", "n": "1L", "b": "x"})
    {'n': None, 'b': 'a'}
    """
    first: dict[str, str] = {}
    found: dict[str, str | None] = {}
    for name, sql in columns.items():
        if sql == ONE:
            found[name] = None
        elif first.setdefault(sql, name) != name:
            found[name] = first[sql]
    return found
