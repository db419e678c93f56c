"""The PostgreSQL sink against a real server: types, keys, retractions, batches that run twice, outages, and tables that do not fit."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from windrow.compiler import compile_sql
from windrow.connectors.postgres.runtime import forget_after, open_sink
from windrow.connectors.postgres.sink import PostgresSink, misfit
from windrow.connectors.runtime import Output, SinkRequest
from windrow.errors import JobError, UsageError, WindrowError
from windrow.jobs import RunOptions, start
from windrow.local.postgres import PostgresServer
from windrow.model import types as T
from windrow.model.types import ColumnDef

pytestmark = pytest.mark.integration

_numbers = count()
KEYED = (ColumnDef("k", T.STRING), ColumnDef("n", T.BIGINT))


@pytest.fixture
def table() -> str:
    return f"sink_{next(_numbers)}"


class Opener:
    """Opens sinks of one server, and closes them when the test is over."""

    def __init__(self, spark: SparkSession, server: PostgresServer) -> None:
        self.spark = spark
        self.server = server
        self.opened: list[PostgresSink] = []

    def request(
        self, table: str, columns: tuple[ColumnDef, ...], key: tuple[str, ...] = (), job: str = "j1", **options: str
    ) -> SinkRequest:
        given = {"url": self.server.dsn, "table": table, **{name.replace("_", "."): value for name, value in options.items()}}
        return SinkRequest("out", given, f"{job} of {table}", columns, key, threading.Event())

    def __call__(
        self, table: str, columns: tuple[ColumnDef, ...], key: tuple[str, ...] = (), job: str = "j1", **options: str
    ) -> PostgresSink:
        sink = open_sink(self.spark, self.request(table, columns, key, job, **options))
        self.opened.append(sink)
        sink.open()
        return sink


@pytest.fixture
def sink(spark: SparkSession, postgres: PostgresServer) -> Iterator[Opener]:
    opener = Opener(spark, postgres)
    yield opener
    for one in opener.opened:
        one.close()


def batch(batch_id: int, rows: list[dict[str, Any]]) -> Output:
    table = pa.Table.from_pylist(rows)
    return Output(batch_id, tuple(name for name in table.column_names if not name.startswith("_")), table)


EVERY_TYPE = (
    ColumnDef("flag", T.BOOLEAN),
    ColumnDef("tiny", T.TINYINT),
    ColumnDef("small", T.SMALLINT),
    ColumnDef("whole", T.INT),
    ColumnDef("big", T.BIGINT),
    ColumnDef("single", T.FLOAT),
    ColumnDef("fraction", T.DOUBLE),
    ColumnDef("exact", T.Decimal(38, 10)),
    ColumnDef("text", T.STRING),
    ColumnDef("raw", T.BINARY),
    ColumnDef("day", T.DATE),
    ColumnDef("at", T.TIMESTAMP),
    ColumnDef("local", T.TIMESTAMP_NTZ),
    ColumnDef("numbers", T.Array(T.BIGINT)),
    ColumnDef("texts", T.Array(T.STRING)),
    ColumnDef("deep", T.Struct((("a", T.INT), ("b", T.Array(T.STRING))))),
    ColumnDef("pairs", T.Map(T.STRING, T.DOUBLE)),
    ColumnDef("lists", T.Array(T.Array(T.INT))),
)

VALUES = (
    "SELECT true AS flag, -7Y AS tiny, 300S AS small, 70000 AS whole, 9223372036854775807 AS big, CAST(0.1 AS FLOAT) AS single,"
    " 1.0D / 3 AS fraction, CAST('1234567890123456789012345678.0123456789' AS DECIMAL(38,10)) AS exact, 'a,\"b\"\\n\\\\.\u00e9' AS text,"
    " X'00ff0a' AS raw, DATE'2024-02-29' AS day, TIMESTAMP'2024-02-29 12:34:56.789012Z' AS at,"
    " TIMESTAMP_NTZ'2024-02-29 12:34:56.000001' AS local, array(1L, NULL, 3L) AS numbers,"
    " array('a', 'b\"c\\\\d', '', NULL, 'NULL') AS texts,"
    " named_struct('a', 1, 'b', array('x')) AS deep, map('p', 0.5D) AS pairs, array(array(1), array(2, 3)) AS lists"
)
LOCAL = datetime(2024, 2, 29, 12, 34, 56, 1, UTC).replace(tzinfo=None)
EXPECTED: tuple[Any, ...] = (
    True, -7, 300, 70000, 9223372036854775807, pytest.approx(0.1), 1 / 3, Decimal("1234567890123456789012345678.0123456789"),
    'a,"b"\n\\.\u00e9', b"\x00\xff\n", date(2024, 2, 29), datetime(2024, 2, 29, 12, 34, 56, 789012, UTC), LOCAL,
    [1, None, 3], ["a", 'b"c\\d', "", None, "NULL"], {"a": 1, "b": ["x"]}, {"p": 0.5}, [[1], [2, 3]],
)  # fmt: skip


@pytest.mark.parametrize("key", [(), ("big",)])
@pytest.mark.parametrize("is_frame", [True, False])
def test_every_type_arrives_unchanged(
    sink: Opener, postgres: PostgresServer, table: str, spark: SparkSession, key: tuple[str, ...], is_frame: bool
) -> None:
    one = sink(table, EVERY_TYPE, key, table_create="true")
    names = tuple(column.name for column in EVERY_TYPE)
    nulls = ", ".join("CAST(2 AS BIGINT) AS big" if c.name == "big" else f"CAST(NULL AS {c.type}) AS {c.name}" for c in EVERY_TYPE)
    frame = spark.sql(VALUES).unionByName(spark.sql(f"SELECT {nulls}"))
    one.write(Output(0, names, frame=frame) if is_frame else Output(0, names, frame.toArrow()))
    with postgres.connect() as connection:
        connection.execute("SET timezone = 'UTC'")
        rows = connection.execute(f"SELECT * FROM {table} ORDER BY big DESC").fetchall()
    assert rows[0] == EXPECTED
    assert rows[1] == tuple(2 if name == "big" else None for name in names)


def test_what_is_no_number_and_times_out_of_the_ordinary(sink: Opener, postgres: PostgresServer, table: str) -> None:
    columns = (ColumnDef("k", T.BIGINT), ColumnDef("x", T.DOUBLE), ColumnDef("at", T.TIMESTAMP))
    one = sink(table, columns, table_create="true")
    at = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, UTC), datetime(1969, 12, 31, 23, 59, 59, 1, UTC)]
    rows = [{"k": i, "x": x, "at": t} for i, (x, t) in enumerate(zip([float("nan"), float("inf"), float("-inf")], at, strict=True))]
    one.write(batch(0, rows))
    with postgres.connect() as connection:
        connection.execute("SET timezone = 'UTC'")
        found = connection.execute(f"SELECT x::text, at FROM {table} ORDER BY k").fetchall()
    assert [row[0] for row in found] == ["NaN", "Infinity", "-Infinity"]
    assert [row[1] for row in found] == at


def test_rows_replace_those_with_the_same_key_and_the_last_of_a_batch_wins(sink: Opener, postgres: PostgresServer, table: str) -> None:
    one = sink(table, KEYED, ("k",), table_create="true")
    one.write(batch(0, [{"k": "a", "n": 1}, {"k": "b", "n": 1}, {"k": "a", "n": 2}]))
    one.write(batch(1, [{"k": "a", "n": 3}]))
    assert postgres.rows(f"SELECT k, n FROM {table} ORDER BY k") == [("a", 3), ("b", 1)]


def test_a_retraction_deletes_the_row_of_its_key(sink: Opener, postgres: PostgresServer, table: str) -> None:
    one = sink(table, KEYED, ("k",), table_create="true")
    one.write(
        batch(
            0,
            [
                {"k": "a", "n": 1, "_emission": "change"},
                {"k": None, "n": 1, "_emission": "change"},
                {"k": "c", "n": 1, "_emission": "change"},
            ],
        )
    )
    one.write(batch(1, [{"k": "a", "n": 2, "_emission": "retract"}, {"k": None, "n": 2, "_emission": "retract"}]))
    assert postgres.rows(f"SELECT k, n FROM {table}") == [("c", 1)]
    one.write(batch(2, [{"k": "c", "n": 2, "_emission": "retract"}, {"k": "c", "n": 3, "_emission": "change"}]))
    assert postgres.rows(f"SELECT k, n FROM {table}") == [("c", 3)]


def test_null_is_a_key_like_any_other_also_under_a_plain_unique_constraint(sink: Opener, postgres: PostgresServer, table: str) -> None:
    postgres.execute(f"CREATE TABLE {table} (k text UNIQUE, n bigint)")
    one = sink(table, KEYED, ("k",))
    one.write(batch(0, [{"k": None, "n": 1}, {"k": "a", "n": 1}]))
    one.write(batch(1, [{"k": None, "n": 2}]))
    assert sorted(postgres.rows(f"SELECT k, n FROM {table}"), key=str) == [("a", 1), (None, 2)]


def test_a_retraction_without_a_key_stops_the_job(sink: Opener, table: str) -> None:
    one = sink(table, KEYED, table_create="true")
    with pytest.raises(JobError, match="WR879"):
        one.write(batch(0, [{"k": "a", "n": 1, "_emission": "retract"}]))


@pytest.mark.parametrize("key", [(), ("k",)])
def test_a_batch_that_runs_twice_is_there_once(sink: Opener, postgres: PostgresServer, table: str, key: tuple[str, ...]) -> None:
    one = sink(table, KEYED, key, table_create="true")
    rows = batch(7, [{"k": "a", "n": 1}, {"k": "b", "n": 2}])
    one.write(rows)
    one.write(rows)
    again = sink(table, KEYED, key)
    again.write(rows)
    again.write(batch(8, [{"k": "c", "n": 3}]))
    other = sink(table, KEYED, key, job="another")
    other.write(batch(7, [{"k": "d", "n": 4}]))
    assert postgres.rows(f"SELECT k, n FROM {table} ORDER BY k") == [("a", 1), ("b", 2), ("c", 3), ("d", 4)]


def test_a_driver_that_was_replaced_writes_nothing(sink: Opener, postgres: PostgresServer, table: str) -> None:
    zombie = sink(table, KEYED, table_create="true")
    heir = sink(table, KEYED)
    heir.write(batch(0, [{"k": "a", "n": 1}]))
    with pytest.raises(JobError, match="WR878"):
        zombie.write(batch(1, [{"k": "z", "n": 1}]))
    assert postgres.rows(f"SELECT k FROM {table}") == [("a",)]


def test_state_that_is_older_than_the_table_is_noticed(sink: Opener, table: str) -> None:
    one = sink(table, KEYED, table_create="true")
    one.write(batch(5, [{"k": "a", "n": 1}]))
    with pytest.raises(JobError, match=r"WR878.*holds batch 5"):
        one.write(batch(4, [{"k": "a", "n": 1}]))


def test_going_back_lets_keyed_rows_be_written_again(sink: Opener, postgres: PostgresServer, table: str) -> None:
    one = sink(table, KEYED, ("k",), table_create="true")
    for number in range(4):
        one.write(batch(number, [{"k": "a", "n": number}]))
    forget_after(sink.request(table, KEYED, ("k",)), 1)
    sink(table, KEYED, ("k",)).write(batch(2, [{"k": "a", "n": 20}]))
    assert postgres.rows(f"SELECT k, n FROM {table}") == [("a", 20)]


@pytest.fixture
def added(sink: Opener, table: str) -> str:
    """A table to which two jobs have added rows in five batches each, two in each; one of them also batch 7."""
    for job in ("adds", "other"):
        one = sink(table, KEYED, job=job, table_create="true")
        for number in range(5):
            one.write(batch(number, [{"k": job, "n": number}, {"k": job, "n": number}]))
    sink(table, KEYED, job="adds").write(batch(7, [{"k": "adds", "n": 7}]))
    return table


def rows_of(postgres: PostgresServer, table: str) -> dict[str, list[int]]:
    found = postgres.rows(f"SELECT k, array_agg(n ORDER BY n) FROM {table} GROUP BY k")
    return {str(k): list(numbers) for k, numbers in found}


def test_going_back_takes_rows_away_that_were_only_added(sink: Opener, postgres: PostgresServer, added: str) -> None:
    postgres.execute(f"INSERT INTO {added} VALUES ('by hand', 9)")
    postgres.execute(f"VACUUM (FULL, FREEZE) {added}")
    request = sink.request(added, KEYED, job="adds")
    forget_after(request, 7)
    forget_after(request, 1)
    everything = {"adds": [0, 0, 1, 1], "other": [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], "by hand": [9]}
    assert rows_of(postgres, added) == everything
    again = sink(added, KEYED, job="adds")
    for number in (2, 3):
        again.write(batch(number, [{"k": "adds", "n": 10 * number}]))
    forget_after(request, 2)
    assert rows_of(postgres, added) == {**everything, "adds": [0, 0, 1, 1, 20]}
    forget_after(request, -1)
    assert "adds" not in rows_of(postgres, added)


def test_rows_of_a_partitioned_table_are_taken_away_too(sink: Opener, postgres: PostgresServer, table: str) -> None:
    postgres.execute(f"CREATE TABLE {table} (k text, n bigint) PARTITION BY RANGE (n)")
    for part in range(2):
        postgres.execute(f"CREATE TABLE {table}_{part} PARTITION OF {table} FOR VALUES FROM ({part * 2}) TO ({part * 2 + 2})")
    one = sink(table, KEYED)
    for number in range(4):
        one.write(batch(number, [{"k": "a", "n": n} for n in range(4)]))
    forget_after(sink.request(table, KEYED), 1)
    assert rows_of(postgres, table) == {"a": [0, 0, 1, 1, 2, 2, 3, 3]}


@pytest.mark.parametrize(
    ("by_hand", "why"),
    [
        ("UPDATE {} SET n = 30 WHERE k = 'adds' AND n = 3", "of their 7 rows 5 are as they were written"),
        ("DELETE FROM {} WHERE k = 'adds' AND n = 3", "of their 7 rows 5 are as they were written"),
        ("DELETE FROM windrow_commits_batches WHERE batch_id = 3", "it was not noted which rows are theirs"),
        ("UPDATE windrow_commits_batches SET xid = NULL WHERE batch_id = 3", "it was not noted which rows are theirs"),
    ],
)
def test_going_back_refuses_where_rows_are_not_as_they_were_written(
    sink: Opener, postgres: PostgresServer, added: str, by_hand: str, why: str
) -> None:
    before = sum(rows_of(postgres, added)["other"])
    postgres.execute(by_hand.format(added))
    with pytest.raises(UsageError, match=rf"(?s)WR879.*2 to 7 cannot be taken back: {why}.*UPDATE .* SET batch_id = 1"):
        forget_after(sink.request(added, KEYED, job="adds"), 1)
    left = rows_of(postgres, added)
    assert left["adds"].count(4) == 2, "all or nothing"
    assert sum(left["other"]) == before
    # As the hint says; the next batches are noted as ever.
    postgres.execute(f"DELETE FROM {added} WHERE k = 'adds' AND n > 1")
    postgres.execute(f"UPDATE windrow_commits SET batch_id = 1 WHERE job = 'adds of {added}'")
    sink(added, KEYED, job="adds").write(batch(2, [{"k": "adds", "n": 2}]))
    forget_after(sink.request(added, KEYED, job="adds"), 1)
    assert rows_of(postgres, added)["adds"] == [0, 0, 1, 1]


def test_rows_that_were_written_one_by_one_are_not_known_again(sink: Opener, postgres: PostgresServer, table: str) -> None:
    """Rows that are set aside are found by savepoints, and rows behind a savepoint bear another number."""
    postgres.execute(f"CREATE TABLE {table} (k text, n bigint CHECK (n < 100))")
    one = sink(table, KEYED, failure_policy="dead_letter")
    assert len(one.write(batch(0, [{"k": "a", "n": 1}, {"k": "a", "n": 100}]))) == 1
    with pytest.raises(UsageError, match=r"(?s)WR879.*it was not noted"):
        forget_after(sink.request(table, KEYED, failure_policy="dead_letter"), -1)


def test_a_user_who_may_create_no_table_writes_all_the_same(sink: Opener, postgres: PostgresServer, table: str) -> None:
    postgres.execute(f"CREATE TABLE {table} (k text, n bigint)")
    sink(f"{table}_first", KEYED, table_create="true")
    postgres.execute("DROP TABLE IF EXISTS windrow_commits_batches")
    postgres.execute(f"CREATE ROLE {table}_poor LOGIN PASSWORD 'poor'")
    postgres.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    postgres.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table}, windrow_commits TO {table}_poor")
    sink(table, KEYED, user=f"{table}_poor", password="poor").write(batch(0, [{"k": "a", "n": 1}]))
    assert rows_of(postgres, table) == {"a": [1]}
    with pytest.raises(UsageError, match="WR879"):
        forget_after(sink.request(table, KEYED, user=f"{table}_poor", password="poor"), -1)


def test_a_large_batch_is_streamed_from_the_executors(sink: Opener, postgres: PostgresServer, table: str, spark: SparkSession) -> None:
    one = sink(table, KEYED, ("k",), table_create="true")
    frame = spark.range(0, 200_000, 1, 4).selectExpr("CAST(id % 150000 AS STRING) AS k", "id AS n", "id AS _seq")
    one.write(Output(0, ("k", "n"), frame=frame))
    assert postgres.rows(f"SELECT count(*), sum(n), max(n) FROM {table}") == [(150_000, sum(range(50_000, 200_000)), 199_999)]


def test_the_fault_of_a_query_is_not_taken_for_the_databases(sink: Opener, table: str, spark: SparkSession) -> None:
    one = sink(table, (ColumnDef("n", T.INT),), table_create="true")
    frame = spark.sql("SELECT raise_error('no such luck') AS n")
    with pytest.raises(Exception, match="no such luck") as caught:
        one.write(Output(0, ("n",), frame=frame.selectExpr("CAST(n AS INT) AS n")))
    assert not isinstance(caught.value, WindrowError)


def test_a_server_that_is_killed_and_comes_back_costs_nothing(
    sink: Opener, postgres: PostgresServer, table: str, spark: SparkSession
) -> None:
    one = sink(table, KEYED, table_create="true")
    one.write(batch(0, [{"k": "a", "n": 0}]))
    # Killed in the middle of a batch: the frame is slow enough that rows are on their way.
    frame = spark.range(0, 40, 1, 40).selectExpr("'k' AS k", "id AS n")
    writing = threading.Thread(target=one.write, args=(Output(1, ("k", "n"), frame=frame),))
    writing.start()
    threading.Event().wait(0.3)
    postgres.kill()
    postgres.start()
    writing.join(60)
    assert not writing.is_alive()
    one.write(batch(2, [{"k": "z", "n": 100}]))
    assert postgres.rows(f"SELECT count(*), sum(n) FROM {table}") == [(42, sum(range(40)) + 100)]


def test_waiting_for_a_server_ends_when_the_job_stops(spark: SparkSession, postgres: PostgresServer, table: str, sink: Opener) -> None:
    request = sink.request(table, KEYED, table_create="true")
    one = open_sink(spark, request)
    one.open()
    postgres.stop()
    try:
        threading.Timer(0.5, request.stopping.set).start()
        with pytest.raises(JobError, match="WR821"):
            one.write(batch(0, [{"k": "a", "n": 1}]))
    finally:
        postgres.start()


def test_a_wrong_password_is_said_at_once_and_never_shown(sink: Opener, postgres: PostgresServer, table: str) -> None:
    with pytest.raises(UsageError, match="WR871") as caught:
        sink(table, KEYED, password="not the one")
    assert "not the one" not in str(caught.value)
    with pytest.raises(UsageError, match=r"WR871.*does not exist"):
        sink(table, KEYED, database="nowhere")


def test_a_missing_table_is_shown_as_the_text_that_creates_it(sink: Opener, postgres: PostgresServer, table: str) -> None:
    with pytest.raises(UsageError, match="WR872") as caught:
        sink(table, KEYED, ("k",))
    assert caught.value.hint is not None
    postgres.execute(caught.value.hint.partition(";")[0])
    sink(table, KEYED, ("k",)).write(batch(0, [{"k": "a", "n": 1}]))


@pytest.mark.parametrize(
    ("ddl", "code", "part"),
    [
        ("k text", "WR873", 'ADD COLUMN "n" bigint'),
        ("k text, nn bigint", "WR873", "did you mean nn?"),
        ("k text, n date", "WR873", "cannot hold every BIGINT"),
        ("k text, n bigint GENERATED ALWAYS AS (1) STORED", "WR873", "generated"),
        ("k text, n bigint, must text NOT NULL", "WR873", '"must"'),
        ("k text, n bigint", "WR874", 'ADD UNIQUE ("k")'),
        ("k text, n bigint, UNIQUE (k, n)", "WR874", "'write.mode' = 'insert'"),
    ],
)
def test_a_table_that_does_not_fit(sink: Opener, postgres: PostgresServer, table: str, ddl: str, code: str, part: str) -> None:
    postgres.execute(f"CREATE TABLE {table} ({ddl})")
    with pytest.raises(UsageError) as caught:
        sink(table, KEYED, ("k",))
    assert caught.value.code == code
    assert part in str(caught.value)
    # What a plan asks before anything stops.
    assert part in str(misfit(sink.request(table, KEYED, ("k",))))


def test_a_number_is_never_rounded_in_silence(sink: Opener, postgres: PostgresServer, table: str) -> None:
    postgres.execute(f"CREATE TABLE {table} (x numeric(10,2))")
    with pytest.raises(UsageError, match="WR873"):
        sink(table, (ColumnDef("x", T.Decimal(20, 4)),))
    # A type that was not known before the query was analysed is checked with the first rows.
    one = sink(table, (ColumnDef("x", T.UNKNOWN),))
    with pytest.raises(UsageError, match="WR873"):
        one.write(batch(0, [{"x": Decimal("1.2345")}]))


def test_a_row_that_does_not_fit_names_its_column(sink: Opener, postgres: PostgresServer, table: str) -> None:
    postgres.execute(f"CREATE TABLE {table} (k varchar(3), n integer NOT NULL CHECK (n < 1000000))")
    one = sink(table, KEYED)
    with pytest.raises(JobError, match=r"WR876.*too long.*k"):
        one.write(batch(0, [{"k": "abcdef", "n": 1}]))
    with pytest.raises(JobError, match=r"WR876.*out of range"):
        one.write(batch(0, [{"k": "a", "n": 2**40}]))
    with pytest.raises(JobError, match=r"WR876.*null value"):
        one.write(batch(0, [{"k": "a", "n": 1}, {"k": "b", "n": None}]))
    assert postgres.rows(f"SELECT * FROM {table}") == []


def test_a_table_that_changes_while_the_job_runs(sink: Opener, postgres: PostgresServer, table: str) -> None:
    one = sink(table, KEYED, ("k",), table_create="true")
    one.write(batch(0, [{"k": "a", "n": 1}]))
    postgres.execute(f"ALTER TABLE {table} ADD COLUMN more text DEFAULT 'x'")
    one.write(batch(1, [{"k": "b", "n": 1}]))
    postgres.execute(f"ALTER TABLE {table} RENAME COLUMN n TO m")
    with pytest.raises(JobError, match="WR875"):
        one.write(batch(2, [{"k": "a", "n": 2}]))
    postgres.execute(f"DROP TABLE {table}")
    with pytest.raises(JobError, match="WR875"):
        one.write(batch(2, [{"k": "a", "n": 2}]))


def test_a_user_without_rights_is_told_what_to_grant(sink: Opener, postgres: PostgresServer, table: str) -> None:
    sink(table, KEYED, table_create="true")
    postgres.execute("DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN PASSWORD 'guest'")
    with pytest.raises(UsageError, match=r"(?s)WR871.*GRANT"):
        sink(table, KEYED, user="guest", password="guest")


def test_names_in_other_case_and_schemas_of_their_own(sink: Opener, postgres: PostgresServer, table: str) -> None:
    postgres.execute('CREATE SCHEMA IF NOT EXISTS "Sales"', f'CREATE TABLE "Sales"."{table}" ("Key" text PRIMARY KEY, "N" bigint)')
    one = sink(table, (ColumnDef("key", T.STRING), ColumnDef("n", T.BIGINT)), ("KEY",), schema="Sales")
    one.write(batch(0, [{"key": "a", "n": 1}]))
    one.write(batch(1, [{"key": "a", "n": 2}]))
    assert postgres.rows(f'SELECT "Key", "N" FROM "Sales"."{table}"') == [("a", 2)]


BAD: list[dict[str, Any]] = [{"k": "a", "n": 1}, {"k": "toolong", "n": 2}, {"k": "b", "n": 3}, {"k": "b", "n": 4}, {"k": None, "n": 5}]


@pytest.mark.parametrize("key", [(), ("k",)])
def test_rows_that_are_refused_are_left_out_when_asked_for(sink: Opener, table: str, key: tuple[str, ...]) -> None:
    with sink.server.connect() as connection:
        connection.execute(f"CREATE TABLE {table} (k varchar(3) NOT NULL{' UNIQUE' if key else ''}, n bigint)")
    first = sink(table, KEYED, key, failure_policy="dead_letter")
    refused = first.write(batch(0, BAD))
    assert [(one.row["k"], one.row["n"]) for one in refused] == [("toolong", 2), (None, 5)]
    assert "too long" in refused[0].why
    assert "null value" in refused[1].why
    assert list(first.write(batch(0, BAD))) == list(refused), "a batch that runs again gives the same"
    assert list(sink(table, KEYED, key, failure_policy="dead_letter").write(batch(0, BAD))) == list(refused), "also after a restart"
    with sink.server.connect() as connection:
        there = connection.execute(f"SELECT k, n FROM {table} ORDER BY n").fetchall()
    assert there == ([("a", 1), ("b", 4)] if key else [("a", 1), ("b", 3), ("b", 4)])


def test_fail_does_not_wait_for_a_server_that_is_away(sink: Opener, table: str) -> None:
    made = sink(table, KEYED, failure_policy="fail", table_create="true")
    made.write(batch(0, [{"k": "a", "n": 1}]))
    sink.server.kill()
    try:
        with pytest.raises(JobError, match="WR877"):
            made.write(batch(1, [{"k": "b", "n": 2}]))
    finally:
        sink.server.start()


def test_a_system_column_that_is_selected_is_a_column_of_the_table(spark: SparkSession, postgres: PostgresServer, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('{"k": "a"}\n')
    sql = f"""
    CREATE STREAM s (k STRING) WITH ('connector' = 'files', 'path' = '{tmp_path}/in');
    CREATE STREAM o AS SELECT k, COUNT(*) AS n, _emission FROM s GROUP BY k WINDOW TUMBLING(1m)
    WITH ('connector' = 'postgres', 'url' = '{postgres.dsn}', 'table' = 'spoken', 'table.create' = 'true');
    """
    jobs = start(compile_sql(sql, "q.sql", {}), RunOptions("until_end", tmp_path / "state"), spark)
    assert jobs.await_end(60)
    with postgres.connect() as connection:
        assert connection.execute("SELECT k, n, _emission FROM spoken").fetchall() == [("a", 1, "final")]
