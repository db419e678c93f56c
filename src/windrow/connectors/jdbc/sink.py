"""Batches into a table of a database, at least once: each is written whole, and once more where the job was killed before it knew."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pyarrow as pa

from windrow.connectors.declared import names_in
from windrow.connectors.encoding import flat_frame
from windrow.connectors.jdbc.database import BAD_OPTION, DOES_NOT_FIT, Database, classify
from windrow.connectors.jdbc.dialects import DIALECTS, GONE, Columns, dialect_of
from windrow.connectors.keys import key_columns
from windrow.connectors.lake.rows import BatchRows, batch_rows
from windrow.connectors.marked_rows import RetractedError, RowsFailedError
from windrow.connectors.runtime import Output, Sink, SinkRequest
from windrow.errors import JobError, UsageError
from windrow.resilience import Guard, RetryRule
from windrow.spark.internals.java_errors import spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_OPEN_SECONDS = 30.0
# What Spark says of an exception whose class it does not know.
_LOST = "UnknownReason"
_MOST_ASKED = 10_000


class JdbcSink(Sink):
    def __init__(self, spark: SparkSession, request: SinkRequest) -> None:
        self._spark = spark
        self._request = request
        self._database = Database.of(spark, request.options)
        self._table = request.options.get("table", "").strip()
        self._key = key_columns(request, "insert", BAD_OPTION)
        self._dialect = (request.options.get("dialect") or dialect_of(self._database.url) or "").lower()
        if self._key and self._dialect not in DIALECTS:
            raise UsageError(
                BAD_OPTION,
                f"how {self._database.system} replaces rows by key is not known",
                f"'dialect' = one of {', '.join(DIALECTS)}; or only add rows: 'write.mode' = 'insert'",
            )
        # The names of the table's columns, as it has them.
        self._there: list[str] = []

    def open(self) -> None:
        self._guard(_OPEN_SECONDS, is_opening=True).call(f"open the table {self._table}", self._open)

    def _open(self) -> None:
        self._there = self._read().schema.names
        names_in(self._table, self._there, self._request.columns, DOES_NOT_FIT)
        if self._key and self._request.columns:
            columns = self._columns([column.name for column in self._request.columns])
            self._database.run([f"DROP TABLE {columns.stage}"], may_fail=True)
            self._database.run([DIALECTS[self._dialect].stage(columns)])

    def write(self, output: Output) -> None:
        try:
            rows = batch_rows(output, self._key)
        except RowsFailedError as error:
            if error.__cause__ is not None:
                # The fault of the query, for which others have better words.
                raise error.__cause__ from None
            raise
        except RetractedError:
            raise self._no_retraction() from None
        if rows is None or rows.is_empty:
            return
        what = f"write batch {output.batch_id} of {self._request.statement} to {self._table}"
        self._guard(self._database.retry_seconds).call(what, lambda: self._write(rows))

    def _guard(self, seconds: float, *, is_opening: bool = False) -> Guard:
        rule = RetryRule(give_up_after=seconds)
        database = self._database
        return Guard(database.system, classify, database.explain, rule, self._request.stopping, is_opening=is_opening)

    def _write(self, rows: BatchRows) -> None:
        if rows.gone is None:
            self._append(rows.rows, self._table)
            return
        columns = self._columns(rows.rows.column_names)
        marked = rows.rows.append_column(GONE, pa.repeat(pa.scalar(0, pa.int32()), rows.rows.num_rows))
        if rows.gone.num_rows:
            taken = rows.gone.append_column(GONE, pa.repeat(pa.scalar(1, pa.int32()), rows.gone.num_rows))
            marked = pa.concat_tables([marked, taken], promote_options="default")
        self._database.run([f"DELETE FROM {columns.stage}"])
        self._append(marked, columns.stage)
        self._database.run(DIALECTS[self._dialect].replace(columns))

    def _append(self, rows: pa.Table, table: str) -> None:
        """In one transaction: Spark makes one of each partition."""
        frame = flat_frame(self._spark.createDataFrame(rows), tuple(rows.column_names)).coalesce(1)
        try:
            frame.write.format("jdbc").mode("append").options(**self._database.spark_options, dbtable=table).save()
            return
        except spark_errors() as error:
            # Spark knows a driver that came while it ran only where it writes: what that says gets lost on the way here.
            if _LOST not in str(error):
                raise
            lost = error
        raise self._asked_again(rows, table) or lost

    def _asked_again(self, rows: pa.Table, table: str) -> Exception | None:
        """What the database says to the rows one by one. Values that Java has not are given as text."""
        names = ", ".join(map(self._spelled, rows.column_names))
        insert = f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' for _ in rows.column_names)})"
        plain = (str, int, float, bool, bytes, type(None))
        values = [
            [value if isinstance(value, plain) else str(value) for value in row.values()] for row in rows.slice(0, _MOST_ASKED).to_pylist()
        ]
        return self._database.refusal(insert, values)

    def _read(self) -> DataFrame:
        return self._spark.read.format("jdbc").options(**self._database.spark_options, dbtable=self._table).load()

    def _columns(self, given: list[str]) -> Columns:
        return Columns(self._table, self._stage, tuple(map(self._spelled, given)), tuple(map(self._spelled, self._key)), GONE)

    def _spelled(self, name: str) -> str:
        if name == GONE:
            return GONE
        there = next((known for known in self._there if known.lower() == name.lower()), name)
        return f"`{there}`" if self._dialect in ("mysql", "mariadb") else f'"{there}"'

    @property
    def _stage(self) -> str:
        """A table of our own beside the target, one for each statement of a job."""
        schema, dot, _ = self._table.rpartition(".")
        whose = f"{self._request.job}/{self._request.statement}"
        return f"{schema}{dot}windrow_stage_{hashlib.sha256(whose.encode()).hexdigest()[:12]}"

    def _no_retraction(self) -> JobError:
        return JobError(
            DOES_NOT_FIT,
            f"{self._request.statement} takes a row back, and rows of {self._table} have no key by which it could be found",
            "mark a key, SELECT k PRIMARY KEY, or name it: 'key' = 'k'; the table needs a unique constraint on it",
        )
