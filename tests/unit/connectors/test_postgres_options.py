"""What the options of a PostgreSQL connection come to, without a server."""

from __future__ import annotations

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from windrow.connectors.postgres.failures import classify
from windrow.connectors.postgres.settings import Server, TableName
from windrow.connectors.postgres.sink import key_of
from windrow.connectors.postgres.target import Target, TargetColumn, check_target, create_text
from windrow.connectors.postgres.types import ColumnType, created_type, holds
from windrow.connectors.runtime import SinkRequest
from windrow.errors import UsageError
from windrow.model import types as T
from windrow.model.types import ColumnDef
from windrow.resilience import FailureClass


def test_keys_win_over_the_parts_of_the_url() -> None:
    server = Server.of({"url": "postgresql://ann:secret@db:5433/shop", "user": "bob", "ssl.mode": "require"})
    known = conninfo_to_dict(server.conninfo)
    assert (known["host"], known["port"], known["user"], known["password"], known["sslmode"]) == ("db", "5433", "bob", "secret", "require")
    assert server.system == "PostgreSQL at db:5433/shop"
    assert "secret" not in repr(server)


def test_without_a_host_it_is_this_machine() -> None:
    assert Server.of({"database": "shop"}).system == "PostgreSQL at localhost:5432/shop"


def test_a_broken_url_is_not_repeated() -> None:
    with pytest.raises(UsageError, match="WR870") as caught:
        Server.of({"url": "postgresql://ann:secret@db:5433/shop?nonsense=1"})
    assert "secret" not in str(caught.value)


def test_a_length_of_time_that_is_none() -> None:
    with pytest.raises(UsageError, match=r"WR870.*retry\.timeout"):
        Server.of({"retry.timeout": "soon"})


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"table": "t"}, '"public"."t"'),
        ({"table": "sales.t"}, '"sales"."t"'),
        ({"table": "t", "schema": "Sales"}, '"Sales"."t"'),
        ({"table": 'o"dd'}, '"public"."o""dd"'),
    ],
)
def test_the_name_of_a_table(options: dict[str, str], shown: str) -> None:
    assert str(TableName.of(options)) == shown


KEYED = (ColumnDef("k", T.STRING), ColumnDef("n", T.BIGINT))


def key(of_query: tuple[str, ...], **options: str) -> tuple[str, ...]:
    given = {"table": "t", **{name.replace("_", "."): value for name, value in options.items()}}
    return key_of(SinkRequest("out", given, "j", KEYED, of_query))


def test_the_key_is_the_option_else_the_querys_and_none_where_rows_are_only_added() -> None:
    assert key(("k",)) == ("k",)
    assert key(("k",), key="k, n") == ("k", "n")
    assert key(("k",), write_mode="insert") == ()
    assert key(()) == ()
    with pytest.raises(UsageError, match="WR874"):
        key((), write_mode="upsert")
    with pytest.raises(UsageError, match=r"WR874.*\"nn\""):
        key((), key="nn")


def test_the_text_of_a_table() -> None:
    columns = (ColumnDef("K", T.STRING, nullable=False), ColumnDef("x", T.Decimal(18, 2)), ColumnDef("at", T.TIMESTAMP))
    name = TableName("public", "t")
    assert create_text(name, columns, ("K",), 150000) == (
        'CREATE TABLE IF NOT EXISTS "public"."t" ("k" text NOT NULL, "x" numeric(18,2), "at" timestamptz, PRIMARY KEY ("k"))'
    )
    assert create_text(name, columns, ("x",), 150000).endswith('UNIQUE NULLS NOT DISTINCT ("x"))')
    assert create_text(name, columns, ("x",), 140000).endswith('PRIMARY KEY ("x"))')


@pytest.mark.parametrize(
    ("type_", "created"),
    [
        (T.BOOLEAN, "boolean"), (T.TINYINT, "smallint"), (T.INT, "integer"), (T.BIGINT, "bigint"), (T.FLOAT, "real"),
        (T.DOUBLE, "double precision"), (T.Decimal(38, 6), "numeric(38,6)"), (T.STRING, "text"), (T.BINARY, "bytea"), (T.DATE, "date"),
        (T.TIMESTAMP, "timestamptz"), (T.TIMESTAMP_NTZ, "timestamp"), (T.Array(T.STRING), "text[]"), (T.Array(T.Array(T.INT)), "jsonb"),
        (T.Struct((("a", T.INT),)), "jsonb"), (T.Map(T.STRING, T.INT), "jsonb"), (T.VARIANT, "jsonb"),
    ],
)  # fmt: skip
def test_created_types(type_: T.DataType, created: str) -> None:
    assert created_type(type_) == created


def column(name: str, scale: int | None = None, *, is_array: bool = False) -> ColumnType:
    return ColumnType(name, name, is_array, False, scale)


@pytest.mark.parametrize(
    ("there", "type_", "fits"),
    [
        (column("int4"), T.BIGINT, True),  # beyond its range the database refuses aloud
        (column("float8"), T.BIGINT, False),  # beyond 2^53 it would round in silence
        (column("float4"), T.DOUBLE, False),
        (column("numeric"), T.DOUBLE, True),
        (column("numeric", 2), T.DOUBLE, False),
        (column("numeric", 2), T.Decimal(10, 2), True),
        (column("numeric", 2), T.Decimal(10, 3), False),
        (column("numeric", 0), T.BIGINT, True),
        (column("date"), T.TIMESTAMP, False),
        (column("timestamp"), T.TIMESTAMP, True),
        (column("varchar"), T.BIGINT, True),
        (column("text"), T.BINARY, False),
        (column("uuid"), T.STRING, True),
        (column("bool"), T.STRING, False),
        (column("jsonb"), T.Map(T.STRING, T.INT), True),
        (column("jsonb"), T.Array(T.INT), True),
        (column("int8", is_array=True), T.Array(T.BIGINT), True),
        (column("int8", is_array=True), T.BIGINT, False),
        (column("int8", is_array=True), T.Array(T.Array(T.BIGINT)), False),
        (column("text"), T.INTERVAL, False),
        (column("date"), T.UNKNOWN, True),
    ],
)
def test_what_a_column_holds(there: ColumnType, type_: T.DataType, fits: bool) -> None:
    assert holds(there, type_) is fits


def test_a_column_is_found_in_any_case_but_best_in_its_own() -> None:
    columns = tuple(TargetColumn(name, column("text"), False, False) for name in ("a", "A"))
    target = Target(TableName("public", "t"), columns, ())
    found = target.column("A")
    assert found is not None
    assert found.name == "A"
    check_target(target, (ColumnDef("a", T.STRING),), ())


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (psycopg.errors.AdminShutdown("x"), FailureClass.TRANSIENT),
        (psycopg.errors.CannotConnectNow("x"), FailureClass.TRANSIENT),
        (psycopg.errors.ConnectionFailure("x"), FailureClass.TRANSIENT),
        (psycopg.errors.SerializationFailure("x"), FailureClass.TRANSIENT),
        (psycopg.errors.DeadlockDetected("x"), FailureClass.TRANSIENT),
        (psycopg.errors.ReadOnlySqlTransaction("x"), FailureClass.TRANSIENT),
        (psycopg.OperationalError("connection refused"), FailureClass.TRANSIENT),
        (psycopg.OperationalError('FATAL: password authentication failed for user "a"'), FailureClass.PERMANENT),
        (psycopg.OperationalError('FATAL: database "a" does not exist'), FailureClass.PERMANENT),
        (psycopg.errors.TooManyConnections("x"), FailureClass.RESOURCE),
        (psycopg.errors.DiskFull("x"), FailureClass.RESOURCE),
        (psycopg.errors.QueryCanceled("x"), FailureClass.RESOURCE),
        (psycopg.errors.NumericValueOutOfRange("x"), FailureClass.DATA),
        (psycopg.errors.NotNullViolation("x"), FailureClass.DATA),
        (psycopg.errors.UndefinedTable("x"), FailureClass.PERMANENT),
        (psycopg.errors.InsufficientPrivilege("x"), FailureClass.PERMANENT),
        (ValueError("x"), FailureClass.PERMANENT),
    ],
)
def test_what_a_failure_means(error: Exception, kind: FailureClass) -> None:
    assert classify(error) is kind
