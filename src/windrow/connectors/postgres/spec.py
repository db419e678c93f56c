"""What the postgres connector understands."""

from __future__ import annotations

from collections.abc import Mapping

from windrow.connectors.spec import FAILURE_POLICY, ConnectorSpec, OptionKind, OptionSpec, Place

_TEXT, _DURATION = OptionKind.TEXT, OptionKind.DURATION

_CONNECTION = (
    OptionSpec(
        "url",
        _TEXT,
        "where the database is, in one line; the keys below win over its parts",
        example="postgresql://${PGUSER}:${PGPASSWORD}@db.example.com:5432/shop",
        is_secret=True,
    ),
    OptionSpec(
        "host",
        _TEXT,
        "name or address of the server, or the folder of its socket; localhost",
        alternative="url",
        left_out="a server on this machine",
        example="db.example.com",
    ),
    OptionSpec("port", OptionKind.INTEGER, "port of the server; 5432", example="5432"),
    OptionSpec(
        "database",
        _TEXT,
        "name of the database; else the one that is named as the user",
        alternative="url",
        left_out="the database that has the name of the user",
        example="shop",
    ),
    OptionSpec("user", _TEXT, "who to connect as", example="windrow"),
    OptionSpec("password", _TEXT, "password of the user", example="${PGPASSWORD}", is_secret=True),
    OptionSpec(
        "ssl.mode",
        OptionKind.CHOICE,
        "how the connection is encrypted; prefer",
        choices=("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
        example="verify-full",
    ),
    OptionSpec("schema", _TEXT, "schema of the table", default="public", example="sales"),
    OptionSpec("connect.timeout", _DURATION, "a connection that takes longer has failed", default="10s", example="30s"),
    OptionSpec("statement.timeout", _DURATION, "a statement that takes longer has failed; 0s: no limit", default="10m", example="1h"),
    OptionSpec(
        "retry.timeout",
        _DURATION,
        "how long a batch waits for a server that does not answer before the job stops",
        default="10m",
        example="1h",
    ),
)


def _places(options: Mapping[str, str]) -> tuple[Place, ...]:
    host, port, database = _server(options)
    name = ".".join((database, options.get("schema", "public"), options.get("table", "")))
    return (Place(f"postgres://{host}:{port}", name),)


def _server(options: Mapping[str, str]) -> tuple[str, str, str]:
    """Host, port and database, as an URL or one by one.

    >>> _server({"url": "postgresql://me@db/shop?sslmode=require"}), _server({"host": "db", "port": "5433", "database": "shop"})
    (('db', '5432', 'shop'), ('db', '5433', 'shop'))
    """
    place, _, path = options.get("url", "").partition("://")[2].partition("?")[0].partition("/")
    host, _, port = place.rpartition("@")[2].partition(":")
    return options.get("host") or host, options.get("port") or port or "5432", options.get("database") or path


POSTGRES = ConnectorSpec(
    name="postgres",
    summary="a table of a PostgreSQL database: rows are upserted exactly once, or loaded as reference data",
    runtime="windrow.connectors.postgres.runtime:PostgresConnector",
    source=(
        OptionSpec("table", _TEXT, "table or view to load", is_required=True, example="customers"),
        OptionSpec(
            "refresh.column",
            _TEXT,
            "column that grows with every change of a row: a refresh then asks only for rows from the last value on",
            example="updated_at",
        ),
        *_CONNECTION,
    ),
    sink=(
        OptionSpec("table", _TEXT, "table to write to", is_required=True, example="volumes"),
        OptionSpec(
            "key", _TEXT, "columns of the key; else the items marked PRIMARY KEY, else GROUP BY and the window", example="symbol,minute"
        ),
        OptionSpec(
            "write.mode",
            OptionKind.CHOICE,
            "replace the row with the same key, or only add rows; upsert where there is a key",
            choices=("upsert", "insert"),
            example="insert",
        ),
        OptionSpec(
            "table.create",
            OptionKind.BOOLEAN,
            "whether a missing table is created from the output's columns",
            default="false",
            example="true",
        ),
        OptionSpec(
            "commits.table",
            _TEXT,
            "table of ours, in the same schema, that holds the last batch of each job",
            default="windrow_commits",
            example="shop_commits",
        ),
        FAILURE_POLICY,
        *_CONNECTION,
    ),
    source_partitions=1,
    is_loadable=True,
    is_streamable=False,
    is_ordered=True,
    places=_places,
    has_target_columns=True,
)
