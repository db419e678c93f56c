"""What the jdbc connector understands."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.connectors.spec import ConnectorSpec, OptionKind, OptionSpec, Place

_TEXT, _DURATION = OptionKind.TEXT, OptionKind.DURATION
# How rows are replaced: see ``windrow.connectors.jdbc.dialects``.
DIALECTS = ("h2", "mysql", "mariadb", "oracle", "sqlserver", "sqlite", "db2", "derby")

_CONNECTION = (
    OptionSpec("url", _TEXT, "address of the database, as its driver wants it", is_required=True, example="jdbc:h2:./shop", is_secret=True),
    OptionSpec(
        "driver.jar",
        OptionKind.PATH,
        "the driver, a jar file; several with commas between them",
        left_out="a driver that the Spark session has already",
        example="drivers/h2-2.4.240.jar",
    ),
    OptionSpec("driver", _TEXT, "class of the driver; else the one that the jar names", example="org.h2.Driver"),
    OptionSpec("user", _TEXT, "who to connect as", example="windrow"),
    OptionSpec("password", _TEXT, "password of the user", example="${PGPASSWORD}", is_secret=True),
    OptionSpec(
        "connection.*",
        _TEXT,
        "any property of a connection that the driver knows; never printed",
        example="true",
        example_key="connection.useSSL",
        is_secret=True,
    ),
)


def _places(options: Mapping[str, str]) -> tuple[Place, ...]:
    return (Place(address_of(options.get("url", "")), options.get("table", "")),)


def address_of(url: str) -> str:
    """Kind and place of a database, without what may be secret.

    >>> address_of("jdbc:mysql://me:secret@db:3306/shop?password=secret"), address_of("jdbc:h2:./shop;USER=sa")
    ('mysql:db:3306/shop', 'h2:./shop')
    """
    kind, _, rest = url.removeprefix("jdbc:").partition(":")
    return f"{kind}:{rest.lstrip('/').partition('?')[0].partition(';')[0].rpartition('@')[2]}"


JDBC = ConnectorSpec(
    name="jdbc",
    summary="a table of any database with a JDBC driver: rows are added or upserted at least once, or loaded as reference data",
    runtime="windrow.connectors.jdbc.runtime:JdbcConnector",
    source=(OptionSpec("table", _TEXT, "table or view to load", is_required=True, example="customers"), *_CONNECTION),
    sink=(
        OptionSpec("table", _TEXT, "table to write to", is_required=True, example="volumes"),
        OptionSpec(
            "write.mode",
            OptionKind.CHOICE,
            "replace the row with the same key, or only add rows; upsert where there is a key",
            choices=("upsert", "insert"),
            example="insert",
        ),
        OptionSpec(
            "key", _TEXT, "columns of the key; else the items marked PRIMARY KEY, else GROUP BY and the window", example="symbol,minute"
        ),
        OptionSpec(
            "dialect", OptionKind.CHOICE, "SQL in which rows are replaced; by the url if not given", choices=DIALECTS, example="mysql"
        ),
        OptionSpec(
            "retry.timeout",
            _DURATION,
            "how long a batch waits for a server that does not answer before the job stops",
            default="10m",
            example="1h",
        ),
        *_CONNECTION,
    ),
    is_loadable=True,
    is_streamable=False,
    is_ordered=True,
    places=_places,
    has_target_columns=True,
)
