"""What the iceberg connector understands."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.connectors.lake.settings import RETRY, SINK_OPTIONS, STORAGE
from windrow.connectors.spec import ConnectorSpec, OptionKind, OptionSpec, Place

CATALOGS = ("sql", "rest", "hive", "glue", "dynamodb")

_WHERE = (
    OptionSpec("table", OptionKind.TEXT, "table, with its namespace", is_required=True, example="sales.volumes"),
    OptionSpec(
        "catalog.type",
        OptionKind.CHOICE,
        "what kind of catalog knows the table; sql is a database, which can be a file of SQLite",
        default="sql",
        choices=CATALOGS,
        example="rest",
    ),
    OptionSpec(
        "catalog.uri",
        OptionKind.TEXT,
        "where the catalog is",
        left_out="with a warehouse on a disk, the file catalog.db in it",
        example="http://localhost:8181",
        is_secret=True,
    ),
    OptionSpec("warehouse", OptionKind.PATH, "folder of the files of tables that are created", example="lake"),
    OptionSpec(
        "catalog.*",
        OptionKind.TEXT,
        "any setting of the catalog, as PyIceberg calls it, such as catalog.token; never printed",
        example="${TOKEN}",
        example_key="catalog.token",
        is_secret=True,
    ),
    STORAGE,
)


def _places(options: Mapping[str, str]) -> tuple[Place, ...]:
    """By the folder of its files, where that is told: the address of a catalog may hold a password."""
    warehouse = options.get("warehouse", "").rstrip("/")
    return (Place(warehouse or f"iceberg:{options.get('catalog.type', 'sql')}", options.get("table", "")),)


ICEBERG = ConnectorSpec(
    name="iceberg",
    summary="an Apache Iceberg table: rows are added or upserted exactly once, or loaded as reference data",
    runtime="windrow.connectors.iceberg.runtime:IcebergConnector",
    source=(*_WHERE, RETRY),
    sink=(*_WHERE, *SINK_OPTIONS),
    is_loadable=True,
    is_streamable=False,
    is_ordered=True,
    places=_places,
    has_target_columns=True,
)
