"""Two streams paired in a batch: new rows meet what is held and each other; what found no partner comes out when none can come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from windrow.connectors.runtime import SEQ
from windrow.model.fate import Fate
from windrow.model.system import SYSTEM_COLUMNS
from windrow.model.types import ColumnDef
from windrow.model.window import DropLate
from windrow.plan.stages import IntervalJoin, Side
from windrow.spark.carrying import ROW, carried_row
from windrow.spark.derive import TRAVELLING
from windrow.spark.emissions import UTC_MICROS
from windrow.spark.enrich import qualified
from windrow.spark.expressions import of_batch, quote, to_sql
from windrow.spark.feeds import JUDGED
from windrow.spark.flow import Flow
from windrow.spark.job_state import JobState, StepInput
from windrow.spark.querying import strictness
from windrow.spark.reading import spark_type
from windrow.spark.state_file import frame_of
from windrow.windowing.joins import HELD, ID, LEFT_ID, MARK, MATCHED, RIGHT_ID, TIME, SideStep, Span, Until, find_pairs
from windrow.windowing.step import Tables, Tick

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_GREATEST = ("_event_time", "_timestamp")
# Columns of a side that are the join's own business.
_OWN = (ID, TIME, MATCHED, MARK)


@dataclass
class JoinResult:
    """What one batch of a join gave. ``taken`` rows came in; of these, some were too late to be paired with anything.

    ``late`` has the text of these rows by side (0: left, 1: right).
    """

    flow: Flow | None = None
    steps: dict[str, StepInput] = field(default_factory=dict)
    tables: dict[str, Tables] = field(default_factory=dict)
    taken: int = 0
    late: dict[int, pa.ChunkedArray] = field(default_factory=dict)


def side_names(stage: IntervalJoin) -> tuple[str, str]:
    """Under which names the two sides keep their state."""
    return f"{stage.name}#left", f"{stage.name}#right"


def side_steps(stage: IntervalJoin) -> dict[str, SideStep]:
    left, right = side_names(stage)
    keys = _key_names(stage)
    return {left: SideStep(keys, _until(stage, 0), stage.keeps_left), right: SideStep(keys, _until(stage, 1), stage.keeps_right)}


def _until(stage: IntervalJoin, index: int) -> Until:
    after, inside = stage.kept_for[index], stage.inside
    return Until(after) if inside is None else Until(after, inside.advance, inside.offset)


def _key_names(stage: IntervalJoin) -> tuple[str, ...]:
    return tuple(f"_j{index}" for index in range(len(stage.keys)))


def side_frame(frame: DataFrame, stage: IntervalJoin, index: int, judged_by: int, also: Sequence[str] = ()) -> DataFrame:
    """The rows of a side (0: left, 1: right) with their keys and time. ``also`` are columns of the frame that come along.

    Of these, ``_row`` has the text of every row, and keeps it for rows that may be too late by the watermark ``judged_by`` or are not
    sound.
    """
    side = (stage.left, stage.right)[index]
    everything = qualified(frame, side, also)
    wanted = [quote(name) for name in _physical(side)]
    system = [quote(name) for name in (*TRAVELLING, *also) if name in everything.columns and name != ROW]
    keys = [f"{to_sql(pair[index])} AS {name}" for name, pair in zip(_key_names(stage), stage.keys, strict=True)]
    time = f"unix_micros(CAST({to_sql(stage.times[index])} AS TIMESTAMP))"
    if ROW in also:
        reasons = [f"{JUDGED} <> {Fate.OK.value}"] * (JUDGED in also) + [_may_be_late(stage, index, time, judged_by)]
        system.append(f"CASE WHEN {' OR '.join(reasons)} THEN {ROW} ELSE '' END AS {ROW}")
    return everything.selectExpr(*wanted, *system, *keys, f"{time} AS {TIME}")


def _may_be_late(stage: IntervalJoin, index: int, time: str, judged_by: int) -> str:
    if isinstance(stage.late, DropLate):
        return "false"
    if _is_judged_first(stage):
        return f"{_until(stage, index).sql(time)} <= {of_batch(judged_by, time)}"
    return "false" if (stage.keeps_left, stage.keeps_right)[index] else f"{time} < {of_batch(judged_by, time)}"


def _is_judged_first(stage: IntervalJoin) -> bool:
    return stage.inside is not None and stage.inside.judges_first


class Joiner:
    """One batch of one join."""

    def __init__(self, spark: SparkSession, stage: IntervalJoin, state: JobState, counters: dict[str, int]) -> None:
        self._spark = spark
        self._stage = stage
        self._state = state
        self._counters = counters
        self._steps = side_steps(stage)

    def run(self, left: Flow | pa.Table | None, right: Flow | pa.Table | None, tick: Tick) -> JoinResult:
        """A side is the rows of the stage before it, or what ``side_frame`` gave."""
        stage = self._stage
        result = JoinResult()
        sides = self._take(left, 0, tick, result), self._take(right, 1, tick, result)
        pairs = find_pairs((sides[0].held, sides[0].new), (sides[1].held, sides[1].new), _key_names(stage), Span(stage.low, stage.high))
        if pairs.height and stage.residual is not None:
            pairs = self._that_hold(pairs, sides)
        gone: list[pl.DataFrame | None] = []
        for index, ids in enumerate((pairs[LEFT_ID], pairs[RIGHT_ID])):
            gone.append(self._step(sides[index], index, ids, tick, result))
        result.flow = self._output(pairs, sides, gone)
        return result

    def _held(self, name: str) -> pl.DataFrame | None:
        return self._state.tables.get(name, {}).get(HELD)

    def _take(self, flow: Flow | pa.Table | None, index: int, tick: Tick, result: JoinResult) -> _Batch:
        """The new rows of a side in arrival order, numbered, with their keys and time. Those that are too late are set aside."""
        name = side_names(self._stage)[index]
        if flow is None:
            return _Batch(name, None, None, self._held(name))
        table = flow if isinstance(flow, pa.Table) else self._collect(flow, index, tick)
        result.taken += table.num_rows
        if SEQ in table.column_names:
            table = table.sort_by(SEQ).drop_columns([SEQ])
        if _is_judged_first(self._stage):
            is_closed = _until(self._stage, index).of(pl.col(TIME)) <= tick.judged_by
            is_late = pl.DataFrame({TIME: table[TIME]}).select(is_closed.fill_null(False))[TIME].to_arrow()
            if pc.any(is_late).as_py():
                result.late[index] = table[ROW].filter(is_late)
                table = table.filter(pc.invert(is_late))
        texts, table = table[ROW], table.drop_columns([ROW])
        return _Batch(name, self._numbered(name, table), texts, self._held(name))

    def _numbered(self, name: str, table: pa.Table) -> pa.Table | None:
        first = self._counters.get(name, 0)
        self._counters[name] = first + table.num_rows
        count = table.num_rows
        table = table.append_column(ID, pa.array(range(first, first + count), pa.int64()))
        table = table.append_column(MATCHED, pa.repeat(False, count)).append_column(MARK, pa.repeat(False, count))
        return table if count else None

    def _collect(self, flow: Flow, index: int, tick: Tick) -> pa.Table:
        frame = flow.as_frame(self._spark)
        frame = frame.selectExpr("*", f"{carried_row(tuple(frame.columns), 'true')} AS {ROW}")
        with strictness(frame.sparkSession, self._stage.is_strict):
            return side_frame(frame, self._stage, index, tick.judged_by, (ROW,)).toArrow()

    def _that_hold(self, pairs: pl.DataFrame, sides: tuple[_Batch, _Batch]) -> pl.DataFrame:
        """Pairs for which the rest of ON is true."""
        assert self._stage.residual is not None
        table = self._joined(pairs, sides).append_column("_pair", pa.array(range(pairs.height), pa.int64()))
        frame = self._spark.createDataFrame(table).coalesce(1)
        with strictness(self._spark, self._stage.is_strict):
            kept = frame.where(to_sql(self._stage.residual)).select("_pair").toArrow()
        return pairs[sorted(kept["_pair"].to_pylist())]

    def _step(self, side: _Batch, index: int, ids: pl.Series, tick: Tick, result: JoinResult) -> pl.DataFrame | None:
        """Move a side's state on; gives the rows that leave it without ever having been paired."""
        step = self._steps[side.name]
        rows = side.step_rows(set(ids.to_list()), self._state.schemas.get(side.name), step.keeps)
        if rows is None and side.held is None:
            return None
        outcome = step.step(self._state.tables.get(side.name, {}), self._state.take_schema(side.name, rows), tick)
        result.tables[side.name] = outcome.state
        result.steps[side.name] = StepInput(tick, rows)
        if not step.keeps and side.new is not None and side.texts is not None and not _is_judged_first(self._stage):
            result.late[index] = side.texts.filter(_is_late(side.new, ids, step.until, tick).to_arrow())
        return outcome.emissions

    def _output(self, pairs: pl.DataFrame, sides: tuple[_Batch, _Batch], gone: list[pl.DataFrame | None]) -> Flow | None:
        """Pairs in the order of time, then what leaves unpaired: left before right."""
        alone = [_unpaired(frame, column) for frame, column in zip(gone, (LEFT_ID, RIGHT_ID), strict=True) if frame is not None]
        everything = pl.concat([pairs, *alone], how="diagonal") if alone else pairs
        if not everything.height:
            return None
        table = self._joined(everything, sides)
        table = table.append_column(SEQ, pa.array(range(table.num_rows), pa.int64()))
        hidden = {*TRAVELLING, SEQ}
        return Flow(tuple(name for name in table.column_names if name not in hidden), table=table)

    def _joined(self, pairs: pl.DataFrame, sides: tuple[_Batch, _Batch]) -> pa.Table:
        """Rows of both sides beside each other, NULLs where one is missing, and the system columns of the joined row."""
        left = self._side_table(pairs[LEFT_ID], sides[0], self._stage.left)
        right = self._side_table(pairs[RIGHT_ID], sides[1], self._stage.right)
        columns = {name: left[name] for name in _physical(self._stage.left)}
        columns.update({name: right[name] for name in _physical(self._stage.right)})
        for column in SYSTEM_COLUMNS:
            both = [table[column.name] for table in (left, right) if column.name in table.column_names]
            if both:
                columns[column.name] = _system_value(column.name, both)
        return pa.table(columns)

    def _side_table(self, ids: pl.Series, batch: _Batch, side: Side) -> pa.Table:
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

    def _schema(self, batch: _Batch, side: Side) -> pa.Schema:
        """The Arrow types of a side as Spark gave them; as declared, where it has not had a row yet."""
        known = batch.table.schema if batch.table is not None else self._state.schemas.get(batch.name)
        if known is not None:
            return pa.schema([pa.field(f.name, f.type) for f in known if f.name not in _OWN])
        from pyspark.sql.pandas.types import to_arrow_schema

        columns = [f"CAST(NULL AS {spark_type(ColumnDef(c.name, c.type))}) AS {quote(name)}" for c, name in _named(side)]
        return to_arrow_schema(self._spark.range(0).selectExpr(*columns).schema, timezone="UTC") if columns else pa.schema([])


@dataclass
class _Batch:
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

    def step_rows(self, paired: set[int], schema: pa.Schema | None, keeps: bool) -> pa.Table | None:
        """What the step is given: the new rows, and a mark for each held row that is paired now."""
        table = self.table
        if not keeps:
            return table
        if table is not None:
            flags = pc.is_in(table[ID], pa.array(sorted(paired), pa.int64()))
            table = table.set_column(table.column_names.index(MATCHED), MATCHED, flags)
        marks = self._marks(paired)
        if not marks:
            return table
        types = table.schema if table is not None else schema
        assert types is not None, "rows are held, so their types are known"
        values = {ID: pa.array(marks, pa.int64()), MATCHED: pa.repeat(True, len(marks)), MARK: pa.repeat(True, len(marks))}
        extra = pa.table({f.name: values.get(f.name, pa.nulls(len(marks), f.type)) for f in types})
        return extra if table is None else pa.concat_tables([table, extra], promote_options="permissive")

    def _marks(self, paired: set[int]) -> list[int]:
        if self.held is None or not paired:
            return []
        return self.held.filter(pl.col(ID).is_in(list(paired)) & ~pl.col(MATCHED))[ID].to_list()


def _is_late(new: pl.DataFrame, paired: pl.Series, until: Until, tick: Tick) -> pl.Series:
    """Rows behind the watermark that met nothing and for which nothing can come any more."""
    is_behind = (pl.col(TIME) < tick.judged_by) & (until.of(pl.col(TIME)) <= tick.reached)
    return new.select((is_behind & ~pl.col(ID).is_in(paired.implode())).fill_null(False).alias("late"))["late"]


def _unpaired(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    return rows.select(pl.col(ID).alias(column))


def _physical(side: Side) -> list[str]:
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
