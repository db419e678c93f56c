"""State that the executors hold, in buckets by group: the driver sends each batch there and gets the emissions back."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from windrow.plan.stages import Aggregate
from windrow.spark.internals.arrow_map import map_in_arrow
from windrow.spark.internals.arrow_types import arrow_schema
from windrow.spark.query.runner import LazyRelation, frame_of_sql, strictness
from windrow.spark.row_columns import ROW, ROWS_COUNT
from windrow.spark.state.backend import Gathered, Taken, kept_rows
from windrow.spark.state.buckets import BUCKET, PAYLOAD, BucketWork, answered, fates_of
from windrow.spark.state.job_state import JobState, StepInput
from windrow.spark.state.state_file import frame_of
from windrow.storage import Files
from windrow.windowing.order import in_order
from windrow.windowing.step import BatchTime, Tables, stack

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass
class ExecutorState:
    """The state of one stage in ``buckets`` shares. ``bytes_held`` and ``rows_held`` are as of the last batch."""

    spark: SparkSession
    stage: Aggregate
    buckets: int
    folder: Files
    state: JobState
    snapshot_every: int
    retain: int
    life: str = field(default_factory=lambda: uuid.uuid4().hex)
    bytes_held: int = 0
    rows_held: int = 0
    # The last batch with rows: its number, its try, and the buckets that it has put rows into.
    _put: tuple[int, str, frozenset[int]] = (-1, "", frozenset())

    @property
    def _work(self) -> BucketWork:
        return BucketWork(self.stage, self.folder, self.life, self.snapshot_every, self.retain)

    def gather(self, rows: LazyRelation, sql: Callable[[str], str], batch_id: int, /, *, is_strict: bool, unmerged_upto: int) -> Gathered:
        assert not unmerged_upto, "the rows of a group go to one bucket"
        from pyspark.sql.types import BinaryType, StructType

        work, attempt = self._work, uuid.uuid4().hex[:12]

        def receive(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return work.receive(batch_id, attempt, names, batches)

        with strictness(rows.given.sparkSession, is_strict):
            partials = frame_of_sql(rows.given, sql(rows.source))
            placed = partials.selectExpr("*", f"CASE WHEN _judged = 0 THEN {self._bucket_sql()} ELSE -1 END AS {BUCKET}")
            names = placed.columns
            shape = StructType().add(PAYLOAD.names[0], BinaryType())
            found = map_in_arrow(placed.repartition(self.buckets, BUCKET), receive, shape).toArrow()
            parts, filled = fates_of(found["payload"])
            self._put = batch_id, attempt, filled
            fates = pa.concat_tables(parts) if parts else _schema_of(partials).empty_table()
        self.state.schemas[self.stage.name] = kept_rows(fates).drop_columns([ROW, ROWS_COUNT]).schema
        return Gathered(fates)

    def _bucket_sql(self) -> str:
        keys = ", ".join(name for name, _ in self.stage.keys)
        return f"pmod(hash({keys}), {self.buckets})" if keys else "0"

    def step(self, rows: pa.Table | None, tick: BatchTime, batch_id: int, /) -> Taken:
        assert rows is None, "the rows are with their buckets"
        work, (put_in, attempt, filled) = self._work, self._put
        if put_in != batch_id:
            # Time alone has moved on, as at the end of the input.
            filled = frozenset()
        answers = self._on_each(lambda bucket: work.advance(bucket, batch_id, tick, attempt if bucket in filled else None))
        self.bytes_held = sum(header["bytes"] for header, _ in answers)
        self.rows_held = sum(header["rows"] for header, _ in answers)
        for _, tables in answers:
            if "types" in tables:
                self.state.schemas.setdefault(self.stage.name, tables["types"].schema)
        emissions = stack([frame_of(tables["emissions"]) for _, tables in answers if "emissions" in tables])
        refused = [tables["refused"] for _, tables in answers if "refused" in tables]
        keys = tuple(name for name, _ in self.stage.keys)
        return Taken(
            StepInput(tick, None),
            None if emissions is None else in_order(emissions, keys),
            pa.concat_tables(refused) if refused else None,
        )

    def open_windows(self, batch_id: int) -> pl.DataFrame | None:
        """What every bucket held after a batch."""
        work = self._work
        answers = self._on_each(lambda bucket: work.open_windows(bucket, batch_id))
        return stack([frame_of(tables["windows"]) for _, tables in answers if "windows" in tables])

    def _on_each(self, ask: Callable[[int], bytes]) -> list[tuple[dict[str, Any], dict[str, pa.Table]]]:
        """One task a bucket."""
        tasks = self.spark.sparkContext.parallelize(range(self.buckets), self.buckets)
        return [answered(answer) for answer in tasks.map(ask).collect()]

    def settle_in(self, tables: Tables, batch_id: int) -> None:
        """Take over the state that the driver held after a batch: every bucket gets its groups."""
        shares: list[dict[str, pl.DataFrame]] = [{} for _ in range(self.buckets)]
        for name, table in tables.items():
            for bucket, share in self._shares(table):
                shares[bucket][name] = share
        if batch_id < 0:
            return
        schema = self.state.schemas.get(self.stage.name)
        for bucket, own in enumerate(shares):
            self._work.settle_in(bucket, own, schema, batch_id)

    def _shares(self, table: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
        keys = [name for name, _ in self.stage.keys]
        if not keys or not table.height:
            yield 0, table
            return
        schema = self.state.schemas[self.stage.name]
        typed = pa.table([table[key].to_arrow().cast(schema.field(key).type) for key in keys], names=keys)
        # Spark's own hash, so that a group's rows find the bucket that its state is in.
        numbers = self.spark.createDataFrame(typed).coalesce(1).selectExpr(f"{self._bucket_sql()} AS {BUCKET}").toArrow()[BUCKET]
        placed = table.with_columns(pl.Series(BUCKET, numbers.to_pylist(), pl.Int32))
        for (bucket,), share in placed.partition_by(BUCKET, as_dict=True, include_key=False).items():
            yield int(bucket), share


def _schema_of(frame: DataFrame) -> pa.Schema:
    return arrow_schema(frame.schema)
