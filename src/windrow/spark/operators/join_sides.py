"""The two sides of a join of streams in one batch: rows as they come, rows that are held, and rows of both beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from windrow.connectors.runtime import SEQ
from windrow.model.expr import Expr
from windrow.model.fate import Fate
from windrow.model.system import SYSTEM_COLUMNS
from windrow.model.types import ColumnDef
from windrow.plan.stages import Side, StreamJoin
from windrow.spark.compile.expressions import quote, to_sql
from windrow.spark.internals.arrow_types import arrow_schema
from windrow.spark.operators.emissions import UTC_MICROS
from windrow.spark.operators.join_lateness import may_be_late
from windrow.spark.operators.table_lookup import qualified
from windrow.spark.query.flow import Flow
from windrow.spark.query.runner import strictness
from windrow.spark.row_columns import JUDGED, ROW, TRAVELLING
from windrow.spark.scan.diverted_rows import diverted_row, with_judged_time
from windrow.spark.scan.row_reader import spark_type
from windrow.spark.state.counters import JobCounters
from windrow.spark.state.job_state import JobState, StepInput
from windrow.spark.state.state_file import frame_of
from windrow.windowing.columns import TIME
from windrow.windowing.joins import HELD, ID, LEFT_ID, MARK, MATCHED, RIGHT_ID
from windrow.windowing.step import BatchTime, Tables, WindowStep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_GREATEST = ("_event_time", "_timestamp")
# Columns of a side that are the join's own business.
_OWN = (ID, TIME, MATCHED, MARK)
_PASSES = "_passes"  # whether the filter of a side lets a row through


@dataclass
class JoinResult:
    """What one batch of a join gave. ``taken`` rows came in; of these, some were too late to be paired with anything.

    ``late`` has the text of these rows by side (0: left, 1: right). ``left_out`` were refused by the filter of their side, or found
    nothing in a join that wants something to be found.
    """

    flow: Flow | None = None
    steps: dict[str, StepInput] = field(default_factory=dict)
    tables: dict[str, Tables] = field(default_factory=dict)
    taken: int = 0
    left_out: int = 0
    late: dict[int, pa.ChunkedArray] = field(default_factory=dict)


def side_names(stage: StreamJoin) -> tuple[str, str]:
    """Under which names the two sides keep their state."""
    return f"{stage.name}#left", f"{stage.name}#right"


def key_names(stage: StreamJoin) -> tuple[str, ...]:
    return tuple(f"_j{index}" for index in range(len(stage.keys)))


def comparable_keys(stage: StreamJoin) -> tuple[str, ...]:
    """Keys of which NULL is equal to nothing."""
    meets = stage.nulls_meet or (False,) * len(stage.keys)
    return tuple(name for name, null_meets in zip(key_names(stage), meets, strict=True) if not null_meets)


def side_frame(frame: DataFrame, stage: StreamJoin, index: int, watermark_before: int, also: Sequence[str] = ()) -> DataFrame:
    """The rows of a side (0: left, 1: right) with their keys and time. ``also`` are columns of the frame that come along.

    Of these, ``_row`` has the text of every row, and keeps it for rows that may be too late by ``watermark_before`` or are not sound.
    A row that the filter of its side leaves out has nothing but its fate.
    """
    side = (stage.left, stage.right)[index]
    everything = qualified(frame, replace(side, columns=(*side.columns, *side.compared)), also)
    if side.where is not None:
        everything = everything.selectExpr("*", f"coalesce({to_sql(side.where)}, false) AS {_PASSES}")

    def value(sql: str, name: str) -> str:
        return f"{sql if side.where is None else f'CASE WHEN {_PASSES} THEN {sql} END'} AS {name}"

    time = f"unix_micros(CAST({to_sql(stage.times[index])} AS TIMESTAMP))"
    travelling = [name for name in TRAVELLING if name in everything.columns]
    columns = [value(quote(name), quote(name)) for name in (*physical_names(side), *travelling)]
    columns += [quote(name) for name in also if name in everything.columns and name not in (ROW, JUDGED, *travelling)]
    columns += [value(to_sql(pair[index]), name) for name, pair in zip(key_names(stage), stage.keys, strict=True)]
    columns.append(value(time, TIME))
    columns += _fates(stage, index, time, watermark_before, also)
    return everything.selectExpr(*columns)


def _fates(stage: StreamJoin, index: int, time: str, watermark_before: int, also: Sequence[str]) -> list[str]:
    """What became of each row so far, and its text where somebody may want it."""
    is_filtered = (stage.left, stage.right)[index].where is not None
    columns = []
    judged = JUDGED if JUDGED in also else str(Fate.OK.value)
    if is_filtered:
        left_out = f"{judged} = {Fate.OK.value} AND NOT {_PASSES}"
        columns.append(f"CAST(CASE WHEN {left_out} THEN {Fate.FILTERED.value} ELSE {judged} END AS TINYINT) AS {JUDGED}")
    elif JUDGED in also:
        columns.append(JUDGED)
    if ROW in also:
        late = may_be_late(stage, index, time, watermark_before)
        reasons = [f"{JUDGED} <> {Fate.OK.value}"] * (JUDGED in also) + [f"{_PASSES} AND {late}" if is_filtered else late]
        columns.append(f"CASE WHEN {' OR '.join(reasons)} THEN {with_judged_time(ROW, time)} ELSE '' END AS {ROW}")
    return columns


@dataclass
class SideBatch:
    """A side in one batch: ``table`` are its new rows, and ``texts`` what they are as text, where somebody may want it."""

    name: str
    table: pa.Table | None
    texts: pa.ChunkedArray | None
    held: pl.DataFrame | None
    new: pl.DataFrame | None = field(init=False)
    everything: pl.DataFrame | None = field(init=False)

    def __post_init__(self) -> None:
        frame = self.new = None if self.table is None else frame_of(self.table)
        there = [each for each in (self.held, None if frame is None else frame.drop(MARK)) if each is not None]
        self.everything = pl.concat(there, how="diagonal_relaxed", rechunk=True) if there else None

    def without(self, is_gone: pl.Series) -> SideBatch:
        """The batch without some of its new rows."""
        if self.table is None or not is_gone.any():
            return self
        stays = (~is_gone).to_arrow()
        table = self.table.filter(stays)
        texts = None if self.texts is None else self.texts.filter(stays)
        return SideBatch(self.name, table if table.num_rows else None, texts, self.held)

    def with_signals(self, signals: list[int], schema: pa.Schema | None, *, matched: bool) -> pa.Table | None:
        """The new rows, and a mark for each row of these numbers."""
        table = self.table
        if not signals:
            return table
        types = table.schema if table is not None else schema
        assert types is not None, "rows are held, so their types are known"
        values = {ID: pa.array(signals, pa.int64()), MATCHED: pa.repeat(matched, len(signals)), MARK: pa.repeat(True, len(signals))}
        extra = pa.table({f.name: values.get(f.name, pa.nulls(len(signals), f.type)) for f in types})
        return extra if table is None else pa.concat_tables([table, extra], promote_options="permissive")


class JoinSides:
    """Takes the rows of both sides in, and puts rows of both beside each other."""

    def __init__(self, spark: SparkSession, stage: StreamJoin, state: JobState, counters: JobCounters) -> None:
        self._spark = spark
        self._stage = stage
        self._state = state
        self._counters = counters

    def take(self, flow: Flow | pa.Table | None, index: int, tick: BatchTime, result: JoinResult) -> SideBatch:
        """The new rows of a side in arrival order, numbered, with their keys and time."""
        name = side_names(self._stage)[index]
        held = self._state.tables.get(name, {}).get(HELD)
        if flow is None:
            return SideBatch(name, None, None, held)
        table = flow if isinstance(flow, pa.Table) else self._collect(flow, index, tick)
        result.taken += table.num_rows
        if JUDGED in table.column_names:
            is_kept = pc.equal(table[JUDGED], Fate.OK.value)
            kept = table.filter(is_kept).drop_columns([JUDGED])
            result.left_out += table.num_rows - kept.num_rows
            table = kept
        if SEQ in table.column_names:
            table = table.sort_by(SEQ).drop_columns([SEQ])
        texts, table = table[ROW], table.drop_columns([ROW])
        return SideBatch(name, self._numbered(name, table), texts, held)

    def _numbered(self, name: str, table: pa.Table) -> pa.Table | None:
        first = self._counters.of(name).take_numbers(table.num_rows)
        count = table.num_rows
        table = table.append_column(ID, pa.array(range(first, first + count), pa.int64()))
        table = table.append_column(MATCHED, pa.repeat(False, count)).append_column(MARK, pa.repeat(False, count))
        return table if count else None

    def _collect(self, flow: Flow, index: int, tick: BatchTime) -> pa.Table:
        frame = flow.as_frame(self._spark)
        frame = frame.selectExpr("*", f"{diverted_row(tuple(frame.columns), 'true')} AS {ROW}")
        with strictness(frame.sparkSession, self._stage.is_strict):
            return side_frame(frame, self._stage, index, tick.watermark_before, (ROW,)).toArrow()

    def step(
        self, side: SideBatch, rows: pa.Table | None, tick: BatchTime, steps: Mapping[str, WindowStep], result: JoinResult
    ) -> pl.DataFrame | None:
        """Move a side's state on; gives what the step lets out."""
        if rows is None and not self._state.tables.get(side.name):
            return None
        outcome = steps[side.name].step(self._state.tables.get(side.name, {}), self._state.take_schema(side.name, rows), tick)
        result.tables[side.name] = outcome.state
        result.steps[side.name] = StepInput(tick, rows)
        return outcome.emissions

    def schema_of(self, side: SideBatch) -> pa.Schema | None:
        return self._state.schemas.get(side.name)

    def that_hold(self, pairs: pl.DataFrame, sides: tuple[SideBatch, SideBatch], residual: Expr) -> pl.DataFrame:
        """Pairs for which the rest of ON is true."""
        table = self.joined(pairs, sides).append_column("_pair", pa.array(range(pairs.height), pa.int64()))
        frame = self._spark.createDataFrame(table).coalesce(1)
        with strictness(self._spark, self._stage.is_strict):
            kept = frame.where(to_sql(residual)).select("_pair").toArrow()
        return pairs[sorted(kept["_pair"].to_pylist())]

    def joined(self, pairs: pl.DataFrame, sides: tuple[SideBatch, SideBatch]) -> pa.Table:
        """Rows of both sides beside each other, NULLs where one is missing, and the system columns of the joined row."""
        left = self._side_table(pairs[LEFT_ID], sides[0], self._stage.left)
        right = self._side_table(pairs[RIGHT_ID], sides[1], self._stage.right)
        columns = {name: left[name] for name in physical_names(self._stage.left)}
        columns.update({name: right[name] for name in physical_names(self._stage.right)})
        for column in SYSTEM_COLUMNS:
            both = [table[column.name] for table in (left, right) if column.name in table.column_names]
            if both:
                columns[column.name] = _system_value(column.name, both)
        return pa.table(columns)

    def _side_table(self, ids: pl.Series, batch: SideBatch, side: Side) -> pa.Table:
        schema = self._schema(batch, side)
        rows = batch.everything
        if rows is None:
            return (
                schema.empty_table() if not len(ids) else pa.Table.from_arrays([pa.nulls(len(ids), f.type) for f in schema], schema=schema)
            )
        # Rows are numbered as they come, so they stand in the order of their numbers; no row is at the place of no number.
        taken = rows.select(pl.all().gather(rows[ID].search_sorted(ids).set(ids.is_null(), None))).to_arrow()
        columns = [taken[f.name].cast(f.type) if f.name in taken.column_names else pa.nulls(len(ids), f.type) for f in schema]
        return pa.Table.from_arrays(columns, schema=schema)

    def _schema(self, batch: SideBatch, side: Side) -> pa.Schema:
        """The Arrow types of a side as Spark gave them; as declared, where it has not had a row yet."""
        known = batch.table.schema if batch.table is not None else self._state.schemas.get(batch.name)
        if known is not None:
            return pa.schema([pa.field(f.name, f.type) for f in known if f.name not in _OWN])

        columns = [f"CAST(NULL AS {spark_type(ColumnDef(c.name, c.type))}) AS {quote(name)}" for c, name in _named(side)]
        return arrow_schema(self._spark.range(0).selectExpr(*columns).schema) if columns else pa.schema([])


def as_flow(table: pa.Table) -> Flow | None:
    """Joined rows on their way to the next stage, in their order."""
    if not table.num_rows:
        return None
    table = table.append_column(SEQ, pa.array(range(table.num_rows), pa.int64()))
    hidden = {*TRAVELLING, SEQ}
    return Flow(tuple(name for name in table.column_names if name not in hidden), table=table)


def physical_names(side: Side) -> list[str]:
    return [name for _, name in _named(side)]


def _named(side: Side) -> list[tuple[ColumnDef, str]]:
    return [(c, c.name if side.prefix is None else f"{side.prefix}.{c.name}".lower()) for c in side.columns]


def _system_value(name: str, both: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Of the joined row: the later of the two times; else what the left row has, or the right where there is none."""
    if len(both) == 1:
        return both[0]
    if name in _GREATEST:
        micros = [values.cast(UTC_MICROS).cast(pa.int64()) for values in both]
        return pc.max_element_wise(*micros, skip_nulls=True).cast(UTC_MICROS)
    if both[0].type != both[1].type:
        both = [values.cast(pa.string()) for values in both]
    if pa.types.is_map(both[0].type):
        return pa.chunked_array(
            [pa.array([a if a is not None else b for a, b in zip(*(v.to_pylist() for v in both), strict=True)], both[0].type)]
        )
    return pc.coalesce(*both)
