"""A table of a database as reference data: all of its rows, each time it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.connectors.declared import declared, names_in
from windrow.connectors.jdbc.database import DOES_NOT_FIT, Database, classify
from windrow.connectors.runtime import NO_PROVENANCE, SEQ, SourceRequest, SourceStream
from windrow.errors import NotThereError, WindrowError
from windrow.resilience import Guard, RetryRule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Whoever loads tables waits and tries again itself, for as long as 'table.wait.timeout' says.
_SECONDS = 5.0


def open_source(spark: SparkSession, request: SourceRequest) -> SourceStream:
    database = Database.of(spark, request.options)
    table = request.options["table"]

    def load() -> DataFrame:
        found = spark.read.format("jdbc").options(**database.spark_options, dbtable=table).load()
        return declared(found, request.columns, names_in(table, found.schema.names, request.columns, DOES_NOT_FIT))

    def explain(error: BaseException, what: str) -> WindrowError:
        told = database.explain(error, what)
        return NotThereError(told.code, told.message, told.hint) if classify(error).is_worth_trying_again else told

    guard = Guard(database.system, classify, explain, RetryRule(give_up_after=_SECONDS), request.stopping)
    frame = guard.call(f"load the table {table}", load)
    where = table.replace("\\", "\\\\").replace("'", "\\'")
    later = {**NO_PROVENANCE, "_offset": "CAST(NULL AS BIGINT)", "_topic": f"'{where}'", SEQ: "monotonically_increasing_id()"}
    return SourceStream(frame, 1, None, later)
