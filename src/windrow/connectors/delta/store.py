"""A Delta table by delta-rs: the batch of a commit is its transaction (``txn``: application and version), which the format is made for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.connectors.lake.settings import BAD_OPTION, storage_options
from windrow.connectors.lake.store import NO_BATCH, LakeStore, LakeTable, Writing
from windrow.connectors.marked_rows import GONE
from windrow.errors import UsageError
from windrow.resilience import FailureClass

if TYPE_CHECKING:
    from deltalake import CommitProperties, DeltaTable

NO_LIBRARY = "WR910"


class DeltaStore(LakeStore):
    def __init__(self, options: Mapping[str, str], partitions: Sequence[str] = ()) -> None:
        _need_library()
        self._path = options.get("path", "").strip()
        if not self._path:
            raise UsageError(BAD_OPTION, "'path' is missing", "'path' = 'lake/volumes'")
        self._storage = storage_options(options)
        self._partitions = list(partitions)
        self.name = self._path
        self.system = f"Delta table {self._path}"

    def open(self) -> LakeTable | None:
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        try:
            return _Table(self._path, DeltaTable(self._path, storage_options=self._storage or None))
        except TableNotFoundError:
            return None

    def create(self, schema: pa.Schema) -> None:
        from deltalake import DeltaTable

        spelled = {name.lower(): name for name in schema.names}
        missing = [name for name in self._partitions if name.lower() not in spelled]
        if missing:
            raise UsageError(BAD_OPTION, f"'partition.by' names {missing[0]}, which is no column", f"there are: {', '.join(schema.names)}")
        cut_by = [spelled[name.lower()] for name in self._partitions]
        DeltaTable.create(self._path, schema=schema, mode="ignore", partition_by=cut_by or None, storage_options=self._storage or None)

    def classify(self, error: BaseException) -> FailureClass:
        from deltalake.exceptions import CommitFailedError

        # Somebody else made the next version: it is looked again. Of a store, delta-rs says only that it failed.
        return FailureClass.TRANSIENT if isinstance(error, CommitFailedError | OSError) else FailureClass.PERMANENT


class _Table(LakeTable):
    def __init__(self, name: str, table: DeltaTable) -> None:
        self._table = table
        self.name = name
        self.schema = pa.schema(table.schema().to_arrow())
        self.version = str(table.version())

    def last_batch(self, writer: str) -> int:
        found = self._table.transaction_version(writer)
        return NO_BATCH if found is None else int(found)

    def append(self, rows: pa.Table, writing: Writing) -> None:
        from deltalake import write_deltalake

        write_deltalake(self._table, rows, mode="append", commit_properties=_commit(writing))

    def replace(self, rows: pa.Table, gone: pa.Table, key: Sequence[str], writing: Writing) -> None:
        marked = rows.append_column(GONE, pa.repeat(False, rows.num_rows))
        if gone.num_rows:
            taken = gone.append_column(GONE, pa.repeat(True, gone.num_rows))
            marked = pa.concat_tables([marked, taken], promote_options="default")
        has_null = any(marked[name].null_count for name in key)
        same = "IS NOT DISTINCT FROM" if has_null else "="
        matches = " AND ".join(f"(t.{_quoted(name)} {same} s.{_quoted(name)})" for name in key)
        values = {_quoted(name): f"s.{_quoted(name)}" for name in rows.column_names}
        merge = self._table.merge(marked, matches, source_alias="s", target_alias="t", commit_properties=_commit(writing))
        merge.when_matched_delete(f"s.{GONE}").when_matched_update(values).when_not_matched_insert(values, f"NOT s.{GONE}").execute()

    def note(self, writing: Writing) -> None:
        self.append(self.schema.empty_table(), writing)

    def rows(self, columns: Sequence[str]) -> pa.Table:
        from deltalake import QueryBuilder

        chosen = ", ".join(_quoted(name) for name in columns) or "1"
        found: Any = QueryBuilder().register("t", self._table).execute(f"SELECT {chosen} FROM t")
        return pa.table(found)


def _commit(writing: Writing) -> CommitProperties:
    """No second try by itself: it would not look again whether the batch is there already."""
    from deltalake import CommitProperties, Transaction

    return CommitProperties(
        app_transactions=[Transaction(writing.writer, writing.batch_id)],
        max_commit_retries=0,
        custom_metadata={"windrow.batch": str(writing.batch_id)},
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _need_library() -> None:
    try:
        import deltalake  # noqa: F401 - whether it is there is what is asked
    except ImportError:
        message = "tables of Delta Lake are read and written by the package deltalake, which is not installed"
        raise UsageError(NO_LIBRARY, message, "pip install 'windrow[delta]'") from None
