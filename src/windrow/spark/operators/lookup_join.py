"""A stream completed from tables, which may be such that a query makes: rows that find nothing may wait and look again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.plan.physical.strategies import Accounting
from windrow.plan.physical.strategies import Lookup as LookupStrategy
from windrow.plan.stages import Lookup, LookupJoin, UpsertTable
from windrow.spark.execution.batch import BatchContext
from windrow.spark.execution.ledger_writer import record_filter
from windrow.spark.operators.base import JobContext, Operator
from windrow.spark.operators.lookup_retry import LookupRetryBuffer
from windrow.spark.operators.table_lookup import LookedUp, look_up
from windrow.spark.operators.upsert_table import table_frame
from windrow.spark.query.flow import Flow
from windrow.spark.tables.table_queries import TableQueries
from windrow.windowing.retry_buffer import WAITING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class LookupJoinOperator(Operator[LookupJoin]):
    def open(self, context: JobContext) -> None:
        super().open(context)
        self._table_queries = TableQueries(context.spark)

    def process(self, batch: BatchContext) -> None:
        stage, source = self.stage, batch.flows.get(self.stage.stream.input)
        if self.spec.chosen(LookupStrategy) is LookupStrategy.BROADCAST_AND_RETRY:
            self.took(LookupStrategy.BROADCAST_AND_RETRY, batch)
            self._wait(source, batch)
        elif source is not None:
            self.took(LookupStrategy.BROADCAST, batch)
            spark, tables = self.context.spark, self.context.tables
            self._hand_on(look_up(spark, stage, source, lambda lookup: self._looked_up(lookup, batch), tables), batch)

    def _hand_on(self, found: LookedUp, batch: BatchContext) -> None:
        batch.flows[self.name] = found.flow
        if found.total is not None:
            self.took(Accounting.OWN_JOB, batch)
            record_filter(batch.result.ledger, self.name, found.total, found.total - found.skipped)

    def _wait(self, source: Flow | None, batch: BatchContext) -> None:
        first = batch.counters.of(self.name).numbered
        held, schema = batch.state.tables.get(self.name, {}).get(WAITING), batch.state.schemas.get(self.name)
        room = LookupRetryBuffer(self.context.spark, self.stage, held, schema)
        waited = room.run(
            source, first, batch.batch.now, lambda lookup: self._looked_up(lookup, batch), self.context.tables, is_end=batch.batch.is_end
        )
        batch.counters.of(self.name).take_numbers(waited.taken)
        if waited.found is not None:
            self._hand_on(waited.found, batch)
        if waited.change is not None:
            self.keep(waited.change, batch)

    def _looked_up(self, lookup: Lookup, batch: BatchContext) -> DataFrame:
        if lookup.rows is None:
            return self._table(lookup.table.input, batch)
        return self._table_queries.rows(lookup.rows, lambda name: self._table(name, batch), is_strict=self.stage.is_strict)

    def _table(self, name: str, batch: BatchContext) -> DataFrame:
        stage = self.context.job.stage(name)
        if not isinstance(stage, UpsertTable):
            return self.context.tables.frame(name)
        held = batch.tables.get(name, batch.state.tables.get(name, {}))
        return table_frame(self.context.spark, stage, held, batch.state.schemas.get(name))
