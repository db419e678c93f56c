"""What the connector understands. Imported by every check, so nothing heavy is imported here."""

from collections.abc import Mapping

from windrow.connectors.spec import ConnectorSpec, OptionKind, OptionSpec, Place

_PATH = OptionSpec("path", OptionKind.PATH, "the database file", is_required=True, example="shop.db")
_TABLE = OptionSpec("table", OptionKind.TEXT, "the table", is_required=True, example="totals")


def _places(options: Mapping[str, str]) -> tuple[Place, ...]:
    return (Place("sqlite", f"{options['path']}#{options['table']}"),)


SQLITE = ConnectorSpec(
    name="sqlite",
    summary="tables of a SQLite database",
    runtime="windrow_sqlite.connector:SqliteConnector",
    source=(_PATH, _TABLE),
    sink=(_PATH, _TABLE),
    is_loadable=True,
    places=_places,
    worker_modules=lambda _options: ("windrow_sqlite",),
)
