"""``join.on_missing = wait``: a row that finds nothing in a table waits until it does, or has waited long enough."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from windrow.connectors.runtime import SEQ
from windrow.plan.stages import Lookup, LookupJoin
from windrow.spark.operators.table_lookup import LookedUp, look_up, misses, qualified
from windrow.spark.operators.upsert_table import typed
from windrow.spark.query.flow import Flow
from windrow.spark.tables.reference_tables import ReferenceTables
from windrow.windowing.columns import SINCE
from windrow.windowing.retry_buffer import LEAVES, NUMBER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Waited:
    """``found`` are the rows that wait no longer, completed; ``change`` is who came to wait and who left; ``taken`` rows were new."""

    found: LookedUp | None
    change: pa.Table | None
    taken: int


class LookupRetryBuffer:
    """Those who wait from before (``held``) and those of this batch, all of whom look again."""

    def __init__(self, spark: SparkSession, stage: LookupJoin, held: pl.DataFrame | None, schema: pa.Schema | None) -> None:
        self._spark = spark
        self._stage = stage
        self._held = typed(held, schema) if held is not None and schema is not None else None

    def run(
        self,
        source: Flow | None,
        first: int,
        now: int,
        table: Callable[[Lookup], DataFrame],
        tables: ReferenceTables,
        *,
        is_end: bool,
    ) -> Waited:
        """New rows are numbered on from ``first``. At the end of the input nobody waits any more."""
        new = None if source is None else self._new_rows(source, first, now)
        rows = _both(self._held, new)
        if rows is None:
            return Waited(None, None, 0)
        assert self._stage.retry_for is not None
        patient = pc.greater(pc.add(rows[SINCE], self._stage.retry_for), now)
        waiting = [] if is_end else self._missing(rows.filter(patient), table, tables)
        stays = pc.is_in(rows[NUMBER], pa.array(waiting, pa.int64()))
        ready = rows.filter(pc.invert(stays))
        change = _change(rows.filter(stays), ready, first)
        return Waited(self._complete(ready, table, tables), change, 0 if new is None else new.num_rows)

    def _new_rows(self, source: Flow, first: int, now: int) -> pa.Table:
        rows = qualified(source.as_frame(self._spark), self._stage.stream).toArrow()
        rows = rows.sort_by(SEQ) if SEQ in rows.column_names else rows
        # Of a row that leaves only the number is kept, whatever Spark knows of columns that are never NULL in its source.
        rows = rows.cast(pa.schema([field.with_nullable(True) for field in rows.schema]))
        rows = rows.append_column(NUMBER, pa.array(range(first, first + rows.num_rows), pa.int64()))
        return rows.append_column(SINCE, pa.array([now] * rows.num_rows, pa.int64()))

    def _missing(self, rows: pa.Table, table: Callable[[Lookup], DataFrame], tables: ReferenceTables) -> list[int]:
        if not rows.num_rows:
            return []
        missing = misses(self._spark.createDataFrame(rows), self._stage, table, tables)
        numbers: list[int] = missing.selectExpr(NUMBER).distinct().toArrow()[NUMBER].to_pylist()
        return sorted(numbers)

    def _complete(self, ready: pa.Table, table: Callable[[Lookup], DataFrame], tables: ReferenceTables) -> LookedUp | None:
        if not ready.num_rows:
            return None
        # Their columns have the names of the join already.
        stage = replace(self._stage, stream=replace(self._stage.stream, prefix=None))
        flow = Flow(tuple(ready.column_names), table=ready.drop_columns([NUMBER, SINCE]))
        return look_up(self._spark, stage, flow, table, tables)


def _both(held: pa.Table | None, new: pa.Table | None) -> pa.Table | None:
    there = [rows for rows in (held, new) if rows is not None and rows.num_rows]
    return pa.concat_tables(there, promote_options="permissive") if there else None


def _change(stay: pa.Table, ready: pa.Table, first: int) -> pa.Table | None:
    """Who came to wait, whole; and of those who had waited and leave, the number."""
    came = stay.filter(pc.greater_equal(stay[NUMBER], first))
    left = ready.filter(pc.less(ready[NUMBER], first))
    if not came.num_rows and not left.num_rows:
        return None
    gone = pa.table(
        {name: left[name] if name == NUMBER else pa.nulls(left.num_rows, stay.schema.field(name).type) for name in stay.column_names}
    )
    came = came.append_column(LEAVES, pa.repeat(False, came.num_rows))
    gone = gone.append_column(LEAVES, pa.repeat(True, gone.num_rows))
    return pa.concat_tables([came, gone.cast(came.schema)])
