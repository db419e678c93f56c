"""An Iceberg table by PyIceberg: the batch of a commit is a property of the table, changed in the same commit as its rows.

It is in the summary of the snapshot, too, for people; but snapshots expire.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from windrow.connectors.lake.fitting import fitted
from windrow.connectors.lake.settings import BAD_OPTION, storage_options
from windrow.connectors.lake.store import NO_BATCH, LakeStore, LakeTable, Writing
from windrow.errors import UsageError
from windrow.resilience import FailureClass

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import Table, Transaction

NO_LIBRARY = "WR910"
_BATCH = "windrow.batch"
# Beyond so many values of a column, the rows between the least and the greatest are looked through.
_MOST_VALUES = 200
_NO_RETRIES = ("commit.retry.num-retries", "0")


class IcebergStore(LakeStore):
    def __init__(self, options: Mapping[str, str], partitions: Sequence[str] = ()) -> None:
        _need_library()
        self.name = options.get("table", "").strip()
        if not all(self.name.split(".")) or "." not in self.name:
            raise UsageError(BAD_OPTION, f"'table' = '{self.name}' is no table of a namespace", "'table' = 'sales.volumes'")
        self._properties = _properties(options)
        self._partitions = list(partitions)
        self._catalog: Catalog | None = None
        self.system = f"Iceberg table {self.name}"

    def open(self) -> LakeTable | None:
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            return _Table(self._loaded().load_table(self.name))
        except (NoSuchTableError, NoSuchNamespaceError):
            return None

    def create(self, schema: pa.Schema) -> None:
        from pyiceberg.transforms import IdentityTransform

        catalog = self._loaded()
        catalog.create_namespace_if_not_exists(self.name.rpartition(".")[0])
        spelled = {name.lower(): name for name in schema.names}
        missing = [name for name in self._partitions if name.lower() not in spelled]
        if missing:
            raise UsageError(BAD_OPTION, f"'partition.by' names {missing[0]}, which is no column", f"there are: {', '.join(schema.names)}")
        with catalog.create_table_transaction(self.name, schema) as making:
            if self._partitions:
                with making.update_spec() as spec:
                    for name in self._partitions:
                        spec.add_field(spelled[name.lower()], IdentityTransform(), spelled[name.lower()])

    def classify(self, error: BaseException) -> FailureClass:
        from pyiceberg.exceptions import CommitFailedException, ServerError, ServiceUnavailableError, TableAlreadyExistsError

        passing = (CommitFailedException, ServerError, ServiceUnavailableError, TableAlreadyExistsError, OSError)
        return FailureClass.TRANSIENT if isinstance(error, passing) or _is_busy(error) else FailureClass.PERMANENT

    def _loaded(self) -> Catalog:
        from pyiceberg.catalog import load_catalog

        if self._catalog is None:
            self._catalog = load_catalog("windrow", **self._properties)
        return self._catalog


class _Table(LakeTable):
    def __init__(self, table: Table) -> None:
        self._table = table
        self.name = ".".join(table.name())
        self.schema = table.schema().as_arrow()
        snapshot = table.current_snapshot()
        self.version = "empty" if snapshot is None else str(snapshot.snapshot_id)
        # Only in this process: a second try by itself would not look again whether the batch is there already.
        table.metadata.properties[_NO_RETRIES[0]] = _NO_RETRIES[1]

    def last_batch(self, writer: str) -> int:
        return int(self._table.properties.get(f"{_BATCH}.{writer}", NO_BATCH))

    def append(self, rows: pa.Table, writing: Writing) -> None:
        with self._table.transaction() as transaction:
            transaction.append(rows, snapshot_properties=_summary(writing))
            _note(transaction, writing)

    def replace(self, rows: pa.Table, gone: pa.Table, key: Sequence[str], writing: Writing) -> None:
        """Copy on write: the rows among which those with these keys are, without them and with the new ones."""
        given = pa.concat_tables([rows.select(key), gone])
        among = _among(given, key)
        there = fitted(self._table.scan(row_filter=among).to_arrow(), self.schema)
        kept = _without(there, given, key)
        whole = pa.concat_tables([kept, fitted(rows, self.schema)])
        with self._table.transaction() as transaction:
            if kept.num_rows == there.num_rows:
                transaction.append(rows, snapshot_properties=_summary(writing))
            else:
                transaction.overwrite(whole, among, snapshot_properties=_summary(writing))
            _note(transaction, writing)

    def note(self, writing: Writing) -> None:
        with self._table.transaction() as transaction:
            _note(transaction, writing)

    def rows(self, columns: Sequence[str]) -> pa.Table:
        return self._table.scan(selected_fields=tuple(columns)).to_arrow().select(list(columns))


def _note(transaction: Transaction, writing: Writing) -> None:
    transaction.set_properties({f"{_BATCH}.{writing.writer}": str(writing.batch_id)})


def _summary(writing: Writing) -> dict[str, str]:
    return {_BATCH: str(writing.batch_id), "windrow.writer": writing.writer}


def _among(given: pa.Table, key: Sequence[str]) -> BooleanExpression:
    """A filter that all rows with these keys pass, and as few others as it can say in few words."""
    from pyiceberg.expressions import AlwaysFalse, AlwaysTrue, And, GreaterThanOrEqual, In, IsNull, LessThanOrEqual, Or, Reference

    found: BooleanExpression = AlwaysTrue()
    for name in key:
        values = pc.unique(given[name].drop_null())
        part: BooleanExpression = AlwaysFalse()
        if pa.types.is_nested(values.type) or pa.types.is_boolean(values.type):
            continue
        if 0 < len(values) <= _MOST_VALUES:
            part = In(term=Reference(name), values=set(values.to_pylist()))
        elif len(values):
            least, greatest = pc.min_max(values).as_py().values()
            part = And(GreaterThanOrEqual(term=Reference(name), value=least), LessThanOrEqual(term=Reference(name), value=greatest))
        found = And(found, Or(part, IsNull(term=Reference(name))) if given[name].null_count else part)
    return found


def _without(there: pa.Table, given: pa.Table, key: Sequence[str]) -> pa.Table:
    """The rows that have none of the keys. NULL is a key like any other."""
    import polars as pl

    nth = "_windrow_nth"
    own, other = pl.from_arrow(there.select(key)), pl.from_arrow(given)
    assert isinstance(own, pl.DataFrame)
    assert isinstance(other, pl.DataFrame)
    kept = own.with_row_index(nth).join(other, list(key), "anti", nulls_equal=True)[nth]
    return there.take(pa.array(kept.sort().to_list(), pa.int64()))


def _properties(options: Mapping[str, str]) -> dict[str, str]:
    """What PyIceberg is told of the catalog and of the store."""
    kind, warehouse = options.get("catalog.type", "sql").lower(), options.get("warehouse", "").strip()
    own = {key[len("catalog.") :]: value for key, value in options.items() if key.lower().startswith("catalog.")}
    found = {**storage_options(options), **own, "type": kind}
    is_here = bool(warehouse) and ("://" not in warehouse or warehouse.startswith("file:"))
    if is_here:
        folder = Path(warehouse.removeprefix("file://").removeprefix("file:")).absolute()
        warehouse = folder.as_uri()
        if kind == "sql" and "uri" not in found:
            folder.mkdir(parents=True, exist_ok=True)
            found["uri"] = f"sqlite:///{folder / 'catalog.db'}"
    if warehouse:
        found["warehouse"] = warehouse
    if kind in ("sql", "rest", "hive") and "uri" not in found:
        raise UsageError(BAD_OPTION, f"a catalog of the type {kind} needs its address", "'catalog.uri' = '...', or 'warehouse' = 'lake'")
    return found


def _is_busy(error: BaseException) -> bool:
    """SQLite lets one write at a time; other databases go away."""
    try:
        from sqlalchemy.exc import OperationalError
    except ImportError:
        return False
    return isinstance(error, OperationalError)


def _need_library() -> None:
    try:
        import pyiceberg.catalog  # noqa: F401 - whether it is there is what is asked
    except ImportError:
        message = "tables of Apache Iceberg are read and written by the package pyiceberg, which is not installed"
        raise UsageError(NO_LIBRARY, message, "pip install 'windrow[iceberg]'") from None
