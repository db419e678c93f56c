"""Filter and project: the stage that remembers nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.connectors.runtime import PROVENANCE, SEQ
from windrow.model.expr import Column
from windrow.plan.physical.strategies import Accounting, Projection
from windrow.plan.stages import FilterProject, OverAggregate, Read
from windrow.spark.compile.event_time import own_time_sql
from windrow.spark.compile.expressions import quote, sort_sql, to_sql
from windrow.spark.compile.headers import headers_sql
from windrow.spark.execution.batch import BatchContext
from windrow.spark.execution.ledger_writer import passes_sql, record_filter, record_limited
from windrow.spark.operators.base import Operator
from windrow.spark.operators.limit import limited
from windrow.spark.operators.sink_row_counter import SinkRowCounter
from windrow.spark.query.flow import Flow
from windrow.spark.query.runner import strictness
from windrow.spark.row_columns import FATE, PASSED, TRAVELLING
from windrow.windowing.columns import END, START

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_RESERVED = {name.lower() for name in TRAVELLING}


class FilterProjectOperator(Operator[FilterProject]):
    def process(self, batch: BatchContext) -> None:
        stage, source = self.stage, batch.flows.get(self.stage.input)
        if source is None:
            return
        accounting = self.spec.chosen(Accounting)
        if accounting is Accounting.WHILE_SINK_READS:
            self._process_counted(source, batch)
            return
        self._count(accounting, source, batch)
        spark = self.context.spark
        if self.spec.chosen(Projection) is Projection.RENAME:
            self.took(Projection.RENAME, batch)
            flow = renamed(stage, source, spark)
        else:
            self.took(Projection.SPARK_SELECT, batch)
            flow = filter_project(spark, stage, source)
        flow = limited(spark, flow, stage.output.limit, batch.counters.of(stage.name))
        if stage.output.limit is not None:
            record_limited(batch.result.ledger, stage.name, flow)
        batch.flows[stage.name] = flow

    def _count(self, accounting: Accounting | None, source: Flow, batch: BatchContext) -> None:
        stage, ledger = self.stage, batch.result.ledger
        match accounting:
            case Accounting.WITH_SOURCE:
                self.took(Accounting.WITH_SOURCE, batch)
            case Accounting.FROM_TABLE:
                self.took(Accounting.FROM_TABLE, batch)
                rows = source.as_table(self.context.spark).num_rows
                record_filter(ledger, stage.name, rows, rows)
            case _:
                self.took(Accounting.OWN_JOB, batch)
                self.context.ledger.record_filtered_rows(stage, source, ledger)

    def _process_counted(self, source: Flow, batch: BatchContext) -> None:
        """The accounts of the source wait until its rows were read by the sink."""
        stage, ledger = self.stage, self.context.ledger
        read, given = self.context.job.stage(stage.input), source.rows
        assert isinstance(read, Read)
        assert given is not None
        self.took(Projection.SPARK_SELECT, batch)
        accounts = ledger.account_columns(read, tuple(given.schema.names), batch.clocks[read.name])
        flow = filter_project_counted(self.context.spark, stage, source, accounts)
        assert flow.frame is not None
        counter = SinkRowCounter(flow.frame, lambda found: ledger.refuse_failed(read, found))
        batch.flows[stage.name] = replace(flow, row_counter=counter)

        def settle() -> None:
            if counter.found is None:
                counter.read_alone()
            assert counter.found is not None
            for name in (read.name, stage.name):
                batch.batch.measured.take_way(name, Accounting.WHILE_SINK_READS)
            greatest = ledger.record_after_write(read, stage.name, counter.found, given, batch.result)
            self.context.watermarks.advance(read.name, greatest, batch)

        batch.result.settle = settle


def filter_project(spark: SparkSession, stage: FilterProject, source: Flow) -> Flow:
    frame = source.as_frame(spark)
    with strictness(frame.sparkSession, stage.is_strict):
        return _derive(frame, stage, source)


def renamed(stage: FilterProject, source: Flow, spark: SparkSession) -> Flow:
    """Rows that are in the driver and only get other names need no Spark job."""
    table = source.as_table(spark)
    columns: dict[str, str] = {}
    for item in stage.output.items:
        match item.expr:
            case None:
                columns.update({name: name for name in source.columns})
            case Column(name=name):
                columns[item.name] = name
            case _:
                raise AssertionError(f"{item.name} is more than a name")
    travelling = {name: name for name in TRAVELLING if name in table.column_names}
    return Flow(tuple(columns), table=pa.table({new: table[old] for new, old in {**columns, **travelling}.items()}))


def _derive(frame: DataFrame, stage: FilterProject, source: Flow) -> Flow:
    if FATE in frame.columns:
        frame = frame.where(f"{FATE} = 0")
    if stage.where is not None:
        frame = frame.where(to_sql(stage.where))
    projected, names = project(frame, stage, source.columns)
    return Flow(_visible(stage, names), projected)


def _visible(stage: FilterProject, names: list[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name.lower() not in _SYSTEM_NAMES and name not in stage.beside)


def filter_project_counted(spark: SparkSession, stage: FilterProject, source: Flow, accounts: Mapping[str, str]) -> Flow:
    """Every row of a source, with the columns by which it is counted; only of those that pass anything else is computed."""
    frame = source.as_frame(spark)
    columns = (f"{sql} AS {name}" for name, sql in {**accounts, PASSED: passes_sql(stage)}.items())
    projected, names = project(frame.selectExpr("*", *columns), stage, source.columns, only=PASSED, along=(FATE, *accounts, PASSED))
    return Flow(_visible(stage, names), projected)


def project(
    frame: DataFrame,
    stage: FilterProject | OverAggregate,
    visible: tuple[str, ...],
    *,
    only: str | None = None,
    along: tuple[str, ...] = (),
) -> tuple[DataFrame, list[str]]:
    """The items of a stage, with everything that travels along; and their names. ``visible`` is what a star means.

    Where ``only`` names a column that is not true, nothing is computed. Columns ``along`` are taken as they are.
    """
    there = set(frame.columns)
    if stage.output.order_by:
        # The order of an emission replaces the order of arrival; the windows of a batch stay apart.
        frame = frame.selectExpr(*(quote(c) for c in frame.columns if c != SEQ), f"{_rank(stage, there)} AS {SEQ}")
    columns = [quote(name) for name in along]
    names: list[str] = []

    def guarded(sql: str) -> str:
        return sql if only is None else f"CASE WHEN {only} THEN {sql} END"

    for item in stage.output.items:
        if item.expr is None:
            columns.extend(quote(name) for name in visible)
            names.extend(visible)
        else:
            # ``expr AS _event_time`` sets the event time of what goes out, from any type that can hold one.
            is_time = item.name.lower() == "_event_time"
            columns.append(f"{guarded(own_time_sql(item.expr, frame) if is_time else to_sql(item.expr))} AS {quote(item.name)}")
            names.append(item.name)
    taken = {name.lower() for name in names}
    columns.extend(quote(name) for name in TRAVELLING if name in frame.columns and name not in taken and name not in ("_key", "_headers"))
    if "_headers" not in taken and ("_headers" in there or stage.output.headers):
        before = "`_headers`" if "_headers" in there else "CAST(NULL AS MAP<STRING, STRING>)"
        columns.append(f"{guarded(headers_sql(stage.output.headers, before))} AS `_headers`")
    if "_key" not in taken:
        columns.append(f"{guarded(_key_sql(stage, there))} AS `_key`")
    return frame.selectExpr(*columns), names


_SYSTEM_NAMES = {name.lower() for name in (*PROVENANCE, "_event_time")}


def _key_sql(stage: FilterProject | OverAggregate, there: set[str]) -> str:
    if stage.output.key is not None:
        return to_sql(stage.output.key)
    return "`_key`" if "_key" in there else "CAST(NULL AS STRING)"


def _rank(stage: FilterProject | OverAggregate, there: set[str]) -> str:
    windows = [quote(name) for name in (END, START) if name in there]
    arrival = [SEQ] if SEQ in there else []
    return f"CAST(row_number() OVER (ORDER BY {', '.join([*windows, *map(sort_sql, stage.output.order_by), *arrival])}) AS BIGINT)"
