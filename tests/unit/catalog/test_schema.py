"""What a catalog says about the streams of a script."""

from __future__ import annotations

import pytest

from windrow.catalog import Catalog, build_catalog
from windrow.model.system import Origin
from windrow.sql import parse

TRADES = "CREATE STREAM trades (symbol STRING, price DOUBLE, size INT, fee DECIMAL(10,2), ts TIMESTAMP) WITH ('connector' = 'memory');"


def catalog(sql: str) -> Catalog:
    return build_catalog(parse(TRADES + sql))


def columns(found: Catalog, name: str) -> str:
    relation = found.relation(name)
    assert relation is not None
    return ", ".join(f"{column.name} {column.type}" for column in relation.columns)


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ("symbol", "symbol STRING"),
        ("COUNT(*)", "COUNT(*) BIGINT"),
        ("sum(size) AS s, avg(size) AS a, max(ts) AS m", "s BIGINT, a DOUBLE, m TIMESTAMP"),
        ("SUM(fee) AS s, AVG(fee) AS a", "s DECIMAL(20,2), a DECIMAL(14,6)"),
        ("size / 2 AS h, size + 1 AS p, price * size AS v, fee + fee AS f", "h DOUBLE, p INT, v DOUBLE, f DECIMAL(11,2)"),
        ("price > 1 AS big, symbol || 'x' AS s, ts + INTERVAL '1' HOUR AS l", "big BOOLEAN, s STRING, l TIMESTAMP"),
        ("CASE WHEN price > 1 THEN size ELSE NULL END AS c, COALESCE(size, 1.5) AS d", "c INT, d DECIMAL(11,1)"),
        ("UPPER(symbol) AS u, LENGTH(symbol) AS l, ROUND(price, 2) AS r", "u STRING, l INT, r DOUBLE"),
        ("price * 2 AS d, d + 1 AS e", "d DOUBLE, e DOUBLE"),
        ("COLLECT_LIST(price) AS xs, DELTA(price) AS d", "xs ARRAY<DOUBLE>, d DOUBLE"),
        ("UPPER(symbol)", "UPPER(symbol) STRING"),
        ("*", "symbol STRING, price DOUBLE, size INT, fee DECIMAL(10,2), ts TIMESTAMP"),
    ],
)
def test_columns_of_a_query(items: str, expected: str) -> None:
    assert columns(catalog(f"CREATE STREAM out AS SELECT {items} FROM trades"), "OUT") == expected


def test_the_order_of_statements_does_not_matter() -> None:
    found = catalog("CREATE STREAM c AS SELECT b + 1 AS c FROM b; CREATE STREAM b AS SELECT size AS b FROM trades")
    assert columns(found, "c") == "c INT"


def test_late_rows_have_the_columns_of_their_source() -> None:
    found = catalog("SELECT COUNT(*) AS n FROM trades WINDOW TUMBLING(10s) LATE_DATA_STRATEGY DEAD_LETTER INTO too_late")
    assert columns(found, "too_late") == "symbol STRING, price DOUBLE, size INT, fee DECIMAL(10,2), ts TIMESTAMP"


def test_late_rows_of_a_common_table_have_its_columns() -> None:
    found = catalog(
        "WITH x AS (SELECT price AS p FROM trades) SELECT COUNT(*) AS n FROM x WINDOW TUMBLING(10s) LATE_DATA_STRATEGY DEAD_LETTER INTO l"
    )
    assert columns(found, "l") == "p DOUBLE"


def test_a_circle_is_noted_and_unknown() -> None:
    found = catalog("CREATE STREAM x AS SELECT a FROM y; CREATE STREAM y AS SELECT a FROM x")
    assert found.cycles == (("x", "y"),)
    assert [relation.is_known for name in ("x", "y") if (relation := found.relation(name)) is not None] == [False, False]


def test_rows_of_a_window_carry_its_bounds() -> None:
    found = catalog("CREATE STREAM w AS SELECT COUNT(*) AS n FROM trades WINDOW TUMBLING(10s); CREATE STREAM p AS SELECT n FROM w")
    for name in ("w", "p"):
        relation = found.relation(name)
        assert relation is not None
        assert relation.origins == {Origin.ROW, Origin.WINDOW, Origin.EMISSION}


def test_system_columns_are_no_part_of_star() -> None:
    window = "CREATE STREAM w AS SELECT _window_start, COUNT(*) AS n FROM trades WINDOW TUMBLING(10s);"
    found = catalog(f"{window} CREATE STREAM s AS SELECT * FROM w")
    assert columns(found, "s") == "n BIGINT"


def test_using_gives_its_column_once() -> None:
    found = catalog(
        "CREATE STREAM l AS SELECT symbol, price FROM trades; CREATE STREAM r AS SELECT symbol, size FROM trades;"
        "CREATE STREAM j AS SELECT * FROM l JOIN r WITHIN 10s USING (symbol)"
    )
    assert columns(found, "j") == "symbol STRING, price DOUBLE, size INT"
