"""A table as reference data: all of its rows, and again when it has another version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.connectors.declared import declared, names_in
from windrow.connectors.lake.fitting import DOES_NOT_FIT, storable
from windrow.connectors.lake.sink import FAILED, NO_TABLE
from windrow.connectors.lake.store import LakeStore
from windrow.connectors.runtime import NO_PROVENANCE, SEQ, SourceRequest, SourceStream
from windrow.errors import JobError, NotThereError, WindrowError
from windrow.resilience import Guard, RetryRule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Whoever loads tables waits and tries again itself, for as long as 'table.wait.timeout' says.
_SECONDS = 5.0


def open_table(spark: SparkSession, request: SourceRequest, store: LakeStore) -> SourceStream:
    def explain(error: BaseException, what: str) -> WindrowError:
        told = f"could not {what}: {store.said(error)}"
        if store.classify(error).is_worth_trying_again:
            return NotThereError(FAILED, told, "see that the store can be reached, or wait for it longer: 'table.wait.timeout' = '5m'")
        return JobError(FAILED, told, "see that the table can be read")

    guard = Guard(store.system, store.classify, explain, RetryRule(give_up_after=_SECONDS), request.stopping)
    return guard.call(f"load the table {store.name}", lambda: _load(spark, request, store))


def _load(spark: SparkSession, request: SourceRequest, store: LakeStore) -> SourceStream:
    table = store.open()
    if table is None:
        raise NotThereError(NO_TABLE, f"there is no table {store.name}", "wait for it longer: 'table.wait.timeout' = '5m'")
    names = names_in(table.name, table.schema.names, request.columns, DOES_NOT_FIT)
    is_unchanged = table.version == request.since
    rows = storable(table.schema.empty_table().select(names) if is_unchanged else table.rows(names))
    request.progress(rows.num_rows, rows.num_rows)
    where = store.name.replace("\\", "\\\\").replace("'", "\\'")
    later = {**NO_PROVENANCE, "_offset": "CAST(NULL AS BIGINT)", "_topic": f"'{where}'", SEQ: "monotonically_increasing_id()"}
    frame = declared(spark.createDataFrame(rows), request.columns, names)
    return SourceStream(frame, 1, None, later, offset=table.version, is_unchanged=is_unchanged)
