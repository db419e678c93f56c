"""Reference data at hand: the tables of a job, loaded before its first row, the latest row per key."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from windrow.connectors.runtime import SEQ, SourceStream
from windrow.errors import JobError, NotThereError, WindrowError
from windrow.model.changes import DELETED
from windrow.model.fate import Fate
from windrow.model.policies import RowPolicy
from windrow.model.system import ROW_COLUMNS
from windrow.model.types import ColumnDef
from windrow.observe.ledger import Account
from windrow.plan.stages import Aggregate, Job, LoadTable, LookupJoin, OverAggregate, Read, SubqueryLookup
from windrow.spark.compile.expressions import quote
from windrow.spark.execution.dead_letters import DeadLetter
from windrow.spark.execution.ledger_writer import record_loaded, record_set_aside
from windrow.spark.row_columns import FATE, RAW_TEXT
from windrow.spark.scan.row_reader import policies, read_all, spark_type
from windrow.sql.durations import show_duration

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from windrow.spark.execution.batch import BatchResult

_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
# Tables that are loaded side by side: the source is what takes time, not this machine.
_AT_ONCE = 4
_ORDER = "_order"
_numbers = count()


@dataclass(frozen=True)
class Loaded:
    """What a load gave: rows as they were read, bad ones among them. ``is_taken`` says that they are part of the table already."""

    name: str
    rows: pa.Table
    offset: str | None = None
    is_increment: bool = False
    is_taken: bool = False
    seconds: float = 0.0
    gone: pa.Table | None = None


class ReferenceTables:
    """Tables live in the driver and go out to the executors with each join. A restarted job loads anew those that are not refreshed."""

    def __init__(self, spark: SparkSession, job: Job) -> None:
        self._spark = spark
        self._tables = {table.name: table for table in job.tables}
        self._waits = _waits(job)
        lookups = [lookup for stage in job.stages if isinstance(stage, LookupJoin) for lookup in stage.lookups]
        self._versioned = {lookup.table.input for lookup in lookups if lookup.asks_versions}
        # Tables that somebody loads anew while the job runs.
        self.refreshed: frozenset[str] = frozenset()
        self._rows: dict[str, pa.Table] = {}
        self._frames: dict[str, DataFrame] = {}
        self._views: dict[str, str] = {}
        weakref.finalize(self, _drop_views, spark, self._views).atexit = False
        self._accounts: dict[str, Account] = {}
        self._letters: list[DeadLetter] = []

    def load(
        self,
        open_table: Callable[[Read], SourceStream],
        *,
        is_new: bool = True,
        has: Collection[str] = (),
        sleep: Callable[[float], object] = time.sleep,
    ) -> list[Loaded]:
        """Read every table that is not there yet, several at once, trying again for as long as its statements are willing to wait.

        ``is_new`` is false for a job that comes back: what it read then is in its ledger already.
        """
        wanted = [table for table in self._tables.values() if table.name not in has]
        with ThreadPoolExecutor(_AT_ONCE, "windrow-load") as pool:
            tasks = [pool.submit(self._load, table, open_table, sleep) for table in wanted]
            # All of them are waited for, then the first failure is raised.
            wait(tasks)
            loads = [task.result() for task in tasks]
        for loaded in loads:
            self.absorb(loaded.name, loaded.rows, is_whole=True, is_counted=is_new)
        return loads

    def _load(self, table: LoadTable, open_table: Callable[[Read], SourceStream], sleep: Callable[[float], object]) -> Loaded:
        limit = self._waits[table.name] / 1_000_000
        pause, waited, started = _FIRST_PAUSE, 0.0, time.monotonic()
        while True:
            try:
                loaded = self.read(table, open_table(table.read))
                return replace(loaded, is_taken=True, seconds=time.monotonic() - started)
            except Exception as error:
                if isinstance(error, WindrowError) and not isinstance(error, NotThereError):
                    raise
                if waited >= limit:
                    raise _not_loaded(table.name, self._waits[table.name], error) from error
            sleep(min(pause, limit - waited))
            waited += min(pause, limit - waited)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def read(self, table: LoadTable, stream: SourceStream) -> Loaded:
        """The rows of a load, all at once: a table is joined whole or not at all."""
        frame = read_all(table.read, stream, time.time_ns() // 1000)
        return Loaded(table.name, frame.toArrow(), stream.offset, stream.is_increment, gone=stream.gone)

    def take(self, name: str, frame: DataFrame) -> None:
        """More rows of a table, as ``read_all`` gives them: each replaces the row with its key."""
        self.absorb(name, frame.toArrow())

    def absorb(self, name: str, rows: pa.Table, *, is_whole: bool = False, is_counted: bool = True, gone: pa.Table | None = None) -> None:
        """Rows of a load, good and bad, on top of what is held or in its place; without those of what is held that are ``gone``."""
        table = self._tables[name]
        good = rows.filter(pc.equal(rows[FATE], Fate.OK.value))
        if is_counted:
            self._set_aside(table.read, rows, good.num_rows)
        good = good.sort_by(SEQ).drop_columns([FATE, RAW_TEXT, SEQ])
        held = None if is_whole else self._rows.get(name)
        if held is not None and gone is not None and gone.num_rows:
            held = _without(held, gone)
        both = good if held is None else pa.concat_tables([held, good])
        self.put(name, both if name in self._versioned else _present(_latest(both, table.primary_key), table.change))

    def put(self, name: str, rows: pa.Table) -> None:
        """These rows are the table."""
        self._rows[name] = rows
        self._frames.pop(name, None)
        if name in self._views:
            self.frame(name).createOrReplaceGlobalTempView(self._views[name])

    def held(self, name: str) -> pa.Table | None:
        return self._rows.get(name)

    def _set_aside(self, read: Read, rows: pa.Table, good: int) -> None:
        account = self._accounts.setdefault(read.name, Account())
        record_loaded(account, rows.num_rows, good)
        what = policies(read)
        for row in rows.filter(pc.not_equal(rows[FATE], Fate.OK.value)).to_pylist(maps_as_pydicts="lossy"):
            fate = Fate(row.pop(FATE))
            if what[fate] is RowPolicy.FAIL:
                hint = "set the policy to 'dead_letter' to keep such rows aside and go on"
                raise JobError(fate.code, f"table {read.name}: {fate.meaning}, and the policy for that is 'fail'", hint)
            record_set_aside(account, fate, what[fate], 1)
            if what[fate] is RowPolicy.DEAD_LETTER:
                self._letters.append(DeadLetter(fate, read.name, None, row, 0))

    def settle(self, result: BatchResult) -> None:
        """Rows of tables are accounted for in the first batch after they came."""
        for name, account in self._accounts.items():
            result.ledger.source(name).add(account)
        result.dead_letters.extend(replace(letter, batch_id=result.batch_id) for letter in self._letters)
        self._accounts, self._letters = {}, []

    def frame(self, name: str) -> DataFrame:
        """The table as it stands, with its declared columns and what is known of where each row came from."""
        if name not in self._frames:
            rows = self._rows.get(name)
            if rows is None or not rows.num_rows:
                self._frames[name] = empty_table(self._spark, self._tables[name].read.columns)
            else:
                latest = _present(_latest(rows, self._tables[name].primary_key), self._tables[name].change)
                self._frames[name] = self._spark.createDataFrame(latest).coalesce(1)
        return self._frames[name]

    def versions(self, name: str) -> DataFrame:
        """Every row that there ever was, in the order in which they came."""
        rows = self._rows.get(name)
        return self.frame(name) if rows is None or not rows.num_rows else self._spark.createDataFrame(rows).coalesce(1)

    def primary_key(self, name: str) -> tuple[str, ...]:
        return self._tables[name].primary_key

    def change(self, name: str) -> str | None:
        """The column that says which change a version is, where versions are changes."""
        return self._tables[name].change

    def view(self, name: str) -> str:
        """The global temporary view of a table, which SQL of any session can read."""
        if name not in self._views:
            view = f"windrow_table_{next(_numbers)}"
            self.frame(name).createOrReplaceGlobalTempView(view)
            self._views[name] = view
        return self._views[name]


def empty_table(spark: SparkSession, columns: tuple[ColumnDef, ...]) -> DataFrame:
    own = [f"CAST(NULL AS {spark_type(column)}) AS {quote(column.name)}" for column in columns]
    system = [f"CAST(NULL AS {column.type}) AS {quote(column.name)}" for column in ROW_COLUMNS]
    return spark.range(0).selectExpr(*own, *system)


def _drop_views(spark: SparkSession, views: dict[str, str]) -> None:
    for view in views.values():
        spark.catalog.dropGlobalTempView(view)


def _waits(job: Job) -> dict[str, int]:
    """The longest that any statement waits for each table."""
    waits = {table.name: 0 for table in job.tables}
    for stage in job.stages:
        if isinstance(stage, LookupJoin | SubqueryLookup | Aggregate | OverAggregate):
            for name in stage.inputs:
                if name in waits:
                    waits[name] = max(waits[name], stage.wait)
    return waits


def _latest(rows: pa.Table, primary_key: tuple[str, ...]) -> pa.Table:
    """Of rows in order, the last with each key."""
    if not primary_key or not rows.num_rows:
        return rows
    spelled = {name.lower(): name for name in rows.column_names}
    keys = [spelled[key.lower()] for key in primary_key]
    placed = rows.select(keys).append_column(_ORDER, pa.array(range(rows.num_rows), pa.int64()))
    last = placed.group_by(keys).aggregate([(_ORDER, "max")])[f"{_ORDER}_max"]
    return rows.take(last.take(pc.sort_indices(last)))


def _present(rows: pa.Table, change: str | None) -> pa.Table:
    """Those that were not deleted last."""
    return rows if change is None else rows.filter(pc.not_equal(rows[change], DELETED))


def _without(rows: pa.Table, gone: pa.Table) -> pa.Table:
    """Those that have none of the combinations of values that are gone, in their order."""
    names = gone.column_names
    placed = rows.select(names).append_column(_ORDER, pa.array(range(rows.num_rows), pa.int64()))
    wanted = pa.table([gone[name].cast(rows.schema.field(name).type) for name in names], names=names)
    stays = placed.join(wanted, names, join_type="left anti")[_ORDER]
    return rows.take(stays.take(pc.sort_indices(stays)))


def _not_loaded(name: str, wait: int, error: Exception) -> JobError:
    lines = [line for line in str(getattr(error, "message", "") or error).splitlines() if line.strip()]
    hint = error.hint if isinstance(error, WindrowError) and error.hint else "raise 'table.wait.timeout' to wait longer"
    what = lines[0] if lines else type(error).__name__
    return JobError("WR830", f"the table {name} could not be loaded within {show_duration(wait)}: {what}", hint)
