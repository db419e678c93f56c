"""Spellings of other dialects: what they are read as, and that it reads back as itself."""

from __future__ import annotations

import pytest

from windrow.catalog.functions import FunctionKind, functions
from windrow.catalog.own_functions import OWN_FUNCTIONS
from windrow.errors import SqlError
from windrow.sql import format_script, parse
from windrow.sql.words import AGGREGATE_NAMES

_ITEMS = {
    "a BETWEEN SYMMETRIC 2 AND 1": "a BETWEEN 2 AND 1 OR a BETWEEN 1 AND 2",
    "a NOT BETWEEN SYMMETRIC 2 AND 1": "a NOT BETWEEN 2 AND 1 AND a NOT BETWEEN 1 AND 2",
    "a SIMILAR TO '(x|y)_.%'": r"a RLIKE '(?s)^(?:(x|y).\..*)$'",
    "a !~* b": "a NOT RLIKE '(?i)' || b",
    "(a, b) IN ((1, 2), (3, 4))": "a = 1 AND b = 2 OR a = 3 AND b = 4",
    "(a, b) <> (1, 2)": "a != 1 OR b != 2",
    "a >= ALL (ARRAY[1, b])": "forall(array(1, b), _item -> a >= _item)",
    "a = ANY (1, 2)": "a = 1 OR a = 2",
    "a = ANY (SELECT b FROM c)": "a IN (SELECT b FROM c)",
    "a <> ALL (SELECT b FROM c)": "a NOT IN (SELECT b FROM c)",
    "a LIKE ANY ('x', 'y')": "a LIKE 'x' OR a LIKE 'y'",
    "a IS NOT UNKNOWN": "a IS NOT NULL",
    "a -> 'b' -> 0 ->> 'c'": "a:b[0].c",
    "JSON_VALUE(a, '$.b' RETURNING INT)": "TRY_CAST(JSON_VALUE(a, '$.b') AS INT)",
    "JSON_OBJECT(KEY 'x' VALUE a ABSENT ON NULL)": "to_json(named_struct('x', a))",
    "MAP['x', 1]": "map('x', 1)",
    "PERCENTILE_CONT(a, 0.5)": "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY a)",
    "PERCENTILE_DISC(0.5, a)": "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY a)",
    "APPROX_PERCENTILE(0.5) WITHIN GROUP (ORDER BY a)": "APPROX_PERCENTILE(a, 0.5)",
    "TO_CHAR(a, 'DD.MM.YYYY HH24:MI')": "date_format(a, 'dd.MM.yyyy HH:mm')",
    "TO_CHAR(a, '999.9')": "TO_CHAR(a, '999.9')",
    "FLOOR(a TO HOUR)": "DATE_TRUNC('HOUR', a)",
    "SUM(a) FILTER (WHERE b) OVER (PARTITION BY c)": "SUM(CASE WHEN b THEN a END) OVER (PARTITION BY c)",
    "COUNT(*) FILTER (WHERE b) OVER ()": "COUNT(CASE WHEN b THEN 1 END) OVER ()",
    "COUNT(DISTINCT a) OVER ()": "cardinality(collect_set(a) OVER ())",
    "INTERVAL '1-2' YEAR TO MONTH": "make_ym_interval(1, 2)",
}


@pytest.mark.parametrize(("written", "read"), _ITEMS.items())
def test_an_expression_is_read_as(written: str, read: str) -> None:
    shown = format_script(parse(f"SELECT {written} AS x FROM t"))
    assert " ".join(shown.split()) == f"SELECT {read} AS x FROM t;"
    assert format_script(parse(shown)) == shown


_QUERIES = {
    "SELECT SUM(a) OVER w AS s, LAG(a) OVER v AS l FROM t WINDOW w AS (PARTITION BY b), v AS (ORDER BY c)": (
        "SELECT SUM(a) OVER (PARTITION BY b) AS s, LAG(a) OVER (ORDER BY c) AS l FROM t;"
    ),
    "SELECT a FROM t LEFT ANTI JOIN u ON t.a = u.a WHERE b": "SELECT a FROM t WHERE b AND NOT EXISTS (SELECT 1 FROM u WHERE t.a = u.a);",
    "SELECT a FROM t UNION ALL SELECT a FROM u ORDER BY a LIMIT 2": (
        "SELECT * FROM (SELECT a FROM t UNION ALL SELECT a FROM u) AS united ORDER BY a LIMIT 2;"
    ),
    "SELECT tumble(INTERVAL '5' SECOND) AS w, COUNT(*) AS n FROM t GROUP BY 1": (
        "SELECT named_struct('start', _window_start, 'end', _window_end) AS w, COUNT(*) AS n FROM t WINDOW TUMBLING(5s);"
    ),
    "SELECT window_time, a FROM TABLE(HOP(DATA => TABLE t, TIMECOL => DESCRIPTOR(ts), SIZE => 10s, SLIDE => 5s))": (
        "SELECT _window_end - INTERVAL '0.000001' SECOND AS window_time, a FROM t WINDOW SLIDING(10s, 5s) ON EVENT_TIME(ts);"
    ),
    "SELECT a FROM t JOIN u FOR SYSTEM_TIME AS OF PROCTIME() AS v ON t.a = v.a": "SELECT a FROM t JOIN u AS v ON t.a = v.a;",
    "SELECT a, SUM(a) AS s, GROUPING(a) AS g FROM t GROUP BY ROLLUP (a)": (
        "SELECT a, SUM(a) AS s, 0 AS g FROM t GROUP BY a UNION ALL SELECT NULL AS a, SUM(a) AS s, 1 AS g FROM t;"
    ),
    "SELECT a, b, COUNT(*) AS n FROM t GROUP BY GROUPING SETS ((a, b), ROLLUP (b)) LIMIT 3": (
        "SELECT * FROM (SELECT a, b, COUNT(*) AS n FROM t GROUP BY a, b UNION ALL SELECT NULL AS a, b, COUNT(*) AS n FROM t GROUP BY b "
        "UNION ALL SELECT NULL AS a, NULL AS b, COUNT(*) AS n FROM t) AS groupings LIMIT 3;"
    ),
    "SELECT a, COUNT(*) AS n FROM t GROUP BY (a, b)": "SELECT a, COUNT(*) AS n FROM t GROUP BY a, b;",
}


@pytest.mark.parametrize(("written", "read"), _QUERIES.items())
def test_a_query_is_read_as(written: str, read: str) -> None:
    shown = format_script(parse(written))
    assert " ".join(shown.split()) == read
    assert format_script(parse(shown)) == shown


@pytest.mark.parametrize("written", ["(a, b) = 1", "(a, b) = (1, 2, 3)", "a > ANY (SELECT b FROM c)", "a SIMILAR TO b", "CEIL(a TO MONTH)"])
def test_what_cannot_be_read_says_what_to_write(written: str) -> None:
    with pytest.raises(SqlError) as caught:
        parse(f"SELECT {written} AS x FROM t")
    assert caught.value.diagnostics[0].hint not in (None, "")


def test_the_grammar_knows_every_aggregate_of_spark() -> None:
    known = {name for name, found in functions().items() if found.kind is FunctionKind.AGGREGATE}
    assert known >= AGGREGATE_NAMES
    assert known - AGGREGATE_NAMES <= {own.name for own in OWN_FUNCTIONS}
