"""Which columns follow from which, of queries small enough to say it by hand."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

import windrow
from windrow.errors import UsageError
from windrow.lineage import ROWS, ColumnRef, Dataset, EdgeKind, Lineage, downstream, find_column, lineage_of, upstream
from windrow.lineage.datasets import outside
from windrow.lineage.drawing import draw_lineage
from windrow.lineage.openlineage import job_events
from windrow.lineage.report import asked_to_text, lineage_to_json, lineage_to_text, restricted

SOURCES = """
CREATE STREAM t (k STRING, v INT, w INT, ts TIMESTAMP) WITH ('connector' = 'files', 'path' = 'in/t', 'event.time.field' = 'ts');
CREATE STREAM u (k STRING, x INT, at TIMESTAMP) WITH ('connector' = 'files', 'path' = 'in/u', 'event.time.field' = 'at');
CREATE TABLE c (k STRING, name STRING, PRIMARY KEY (k)) WITH ('connector' = 'files', 'path' = 'in/c.csv');
"""


def lineage(sql: str, file: str = "q.sql") -> Lineage:
    return lineage_of(windrow.compile(SOURCES + sql).plan, file)


def edges(sql: str, column: str) -> set[str]:
    """What a column of the statement follows from, as ``input kind``."""
    name, _, column = column.rpartition(".")
    of = ColumnRef(Dataset("q.sql", name or "out"), column)
    return {f"{edge.input.dataset.name}.{edge.input.column} {edge.kind.value}" for edge in lineage(sql).edges if edge.output == of}


@pytest.mark.parametrize(
    ("sql", "column", "expected"),
    [
        ("SELECT v AS a FROM t", "a", {"t.v identity"}),
        ("SELECT v + w AS a FROM t", "a", {"t.v transformation", "t.w transformation"}),
        ("SELECT CASE WHEN w > 1 THEN v ELSE 0 END AS a FROM t", "a", {"t.v transformation", "t.w conditional"}),
        ("SELECT IF(w > 1, v, k) AS a FROM t", "a", {"t.v transformation", "t.k transformation", "t.w conditional"}),
        ("SELECT SUM(v) FILTER (WHERE w > 1) AS a FROM t WINDOW TUMBLING(1m)", "a", {"t.v aggregation", "t.w filter"}),
        ("SELECT k, SUM(v) AS a FROM t GROUP BY k WINDOW TUMBLING(1m)", "k", {"t.k identity"}),
        ("SELECT k, COUNT(*) AS n FROM t GROUP BY k WINDOW TUMBLING(1m)", "n", {"t.* rows"}),
        ("SELECT _window_start AS s, COUNT(*) AS n FROM t WINDOW TUMBLING(1m)", "s", {"t._event_time window"}),
        ("SELECT v AS a, a + 1 AS b FROM t", "b", {"t.v transformation"}),
        (
            "SELECT SUM(v) OVER (PARTITION BY k ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS a FROM t",
            "a",
            {"t.v aggregation", "t.k group_by", "t.ts sort"},
        ),
        ("WITH q AS (SELECT k, v * 2 AS d FROM t) SELECT MAX(d) AS a FROM q GROUP BY k", "a", {"t.v aggregation"}),
        ("SELECT k, v AS a FROM t UNION ALL SELECT k, x FROM u", "a", {"t.v identity", "u.x identity"}),
        ("SELECT c.name AS a FROM t JOIN c ON t.k = c.k", "a", {"c.name identity"}),
        ("SELECT u.x AS a FROM t JOIN u ON t.k = u.k AND u.at BETWEEN t.ts AND t.ts + INTERVAL '1' MINUTE", "a", {"u.x identity"}),
        ("SELECT v AS a FROM t WHERE k IN (SELECT k FROM c WHERE name = 'x')", "a", {"t.v identity"}),
        ("SELECT (SELECT MAX(name) FROM c WHERE c.k = t.k) AS a FROM t", "a", {
            "c.name aggregation", "c.* rows", "c.k filter", "t.k filter", "t.k conditional"}),
    ],
)  # fmt: skip
def test_what_a_column_follows_from(sql: str, column: str, expected: set[str]) -> None:
    assert edges(sql, column) == expected


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT v FROM t WHERE w > 1", {"t.* rows", "t.w filter"}),
        ("SELECT k, SUM(v) AS a FROM t GROUP BY k WINDOW TUMBLING(1m) HAVING SUM(w) > 1",
         {"t.* rows", "t.k group_by", "t._event_time window", "t.w filter"}),
        ("SELECT c.name FROM t JOIN c ON t.k = c.k", {"t.* rows", "c.* rows", "t.k join", "c.k join"}),
        ("SELECT t.v FROM t JOIN u ON t.k = u.k AND u.at BETWEEN t.ts AND t.ts + INTERVAL '1' MINUTE AND u.x > 2",
         {"t.* rows", "u.* rows", "t.k join", "u.k join", "t.ts join", "u.at join", "u.x filter"}),
        ("SELECT v FROM t WHERE k IN (SELECT k FROM c WHERE name = 'x')",
         {"t.* rows", "t.k filter", "c.k filter", "c.name filter", "c.* rows"}),
    ],
)  # fmt: skip
def test_what_decides_about_rows(sql: str, expected: set[str]) -> None:
    found = {each.replace("conditional", "filter") for each in edges(sql, ROWS)}
    assert found == expected


TWO_STEPS = """
CREATE STREAM minutes AS SELECT k, SUM(v) AS total FROM t WHERE w > 0 GROUP BY k WINDOW TUMBLING(1m) WITH ('connector' = 'kafka',
  'topic' = 'minutes', 'bootstrap.servers' = 'b:9092');
CREATE STREAM hours AS SELECT k, MAX(total) AS top FROM minutes GROUP BY k WINDOW TUMBLING(1h);
"""


def test_upstream_goes_through_statements_to_what_is_read() -> None:
    found = lineage(TWO_STEPS)
    columns = {str(column) for column in upstream(found, find_column(found, "hours.top")).columns()}
    assert {"minutes.total", "t.v", "t.w", "file/in/t.v"} <= columns
    assert "u.x" not in columns


def test_downstream_goes_to_what_is_written() -> None:
    found = lineage(TWO_STEPS)
    columns = {str(column) for column in downstream(found, find_column(found, "T.V")).columns()}
    assert columns == {"t.v", "minutes.total", "hours.top", "kafka://b:9092/minutes.total"}
    assert "rows of hours" in {str(column) for column in downstream(found, find_column(found, "t.w")).columns()}


def test_files_are_linked_by_what_is_outside() -> None:
    reader = "CREATE STREAM m (k STRING, total INT) WITH ('connector' = 'kafka', 'topic' = 'minutes', 'bootstrap.servers' = 'b:9092');"
    second = lineage_of(windrow.compile(f"{reader} SELECT total * 2 AS d FROM m").plan, "second.sql")
    found = Lineage.together([lineage(TWO_STEPS, "first.sql"), second])
    assert "out.d" in {str(column) for column in downstream(found, find_column(found, "t.v")).columns()}


def test_columns_that_are_not_there_are_told() -> None:
    found = lineage("SELECT v FROM t")
    with pytest.raises(UsageError, match="there is no stream, table or statement nowhere") as stream:
        find_column(found, "nowhere.v")
    assert stream.value.code == "WR670"
    with pytest.raises(UsageError, match="t has no column nothing"):
        find_column(found, "t.nothing")
    assert find_column(found, "t.*").column == ROWS
    assert find_column(found, "file/in/t.V").column == "v"


def test_text_tree_and_json_say_the_same() -> None:
    found = lineage("SELECT k, SUM(v + w) AS total FROM t GROUP BY k WINDOW TUMBLING(1m)")
    assert "total  <- t.v (aggregation), t.w (aggregation)   SUM(v + w)" in lineage_to_text(found)
    tree = asked_to_text(upstream(found, find_column(found, "out.total")), is_up=True)
    assert tree.splitlines()[:2] == ["out.total", "├─ <- t.v  [aggregation: SUM(v + w)]"]
    listed = lineage_to_json(found)["edges"]
    sums = [edge for edge in listed if edge["output"]["column"] == "total"]
    assert [(edge["input"]["column"], edge["type"], edge["subtype"]) for edge in sums] == [
        ("v", "DIRECT", "AGGREGATION"),
        ("w", "DIRECT", "AGGREGATION"),
    ]


def test_a_column_alone_leaves_the_rest_out() -> None:
    found = lineage("SELECT k, SUM(v) AS total, MAX(w) AS top FROM t GROUP BY k WINDOW TUMBLING(1m)")
    part = restricted(found, upstream(found, find_column(found, "out.total")))
    assert part.columns[Dataset("q.sql", "out")] == ("total",)
    assert "w" not in {edge.input.column for edge in part.edges}


def test_pictures_have_every_edge() -> None:
    found = lineage(TWO_STEPS)
    svg = ElementTree.fromstring(draw_lineage(found, "svg"))
    assert len(svg.findall("{http://www.w3.org/2000/svg}path")) == len(found.edges)
    assert draw_lineage(found, "dot").count(" -> ") == len(found.edges)
    mermaid = draw_lineage(found, "mermaid")
    assert mermaid.count(" --> ") + mermaid.count(" .-> ") == len(found.edges)


def test_a_circle_through_a_topic_can_be_drawn() -> None:
    here = "'connector' = 'kafka', 'topic' = 'loop', 'bootstrap.servers' = 'b:9092'"
    sql = f"CREATE STREAM a (v INT) WITH ({here}); CREATE STREAM b AS SELECT v + 1 AS v FROM a WITH ({here});"
    found = lineage_of(windrow.compile(sql).plan, "q.sql")
    assert "<svg" in draw_lineage(found, "svg")
    assert [str(column) for column in upstream(found, find_column(found, "b.v")).columns()][:2] == ["b.v", "a.v"]


def test_an_event_of_openlineage_has_all_datasets_and_columns() -> None:
    event = json.loads(json.dumps(job_events(windrow.compile(SOURCES + TWO_STEPS).plan, "q.sql", "SELECT 1", "2026-01-01T00:00:00Z")))[0]
    assert event["schemaURL"].endswith("#/$defs/JobEvent")
    assert [each["name"] for each in event["inputs"]] == ["in/t"]
    assert [(each["namespace"], each["name"]) for each in event["outputs"]] == [("kafka://b:9092", "minutes")]
    facet = event["outputs"][0]["facets"]["columnLineage"]
    assert facet["fields"]["total"]["inputFields"] == [
        {
            "namespace": "file",
            "name": "in/t",
            "field": "v",
            "transformations": [{"type": "DIRECT", "subtype": "AGGREGATION", "description": "SUM(v)", "masking": False}],
        }
    ]
    deciding = {each["field"]: {one["subtype"] for one in each["transformations"]} for each in facet["dataset"]}
    assert deciding == {"ts": {"WINDOW", "FILTER"}, "k": {"GROUP_BY"}, "w": {"FILTER"}}


def test_names_of_what_is_outside() -> None:
    assert str(outside("postgres", {"url": "postgresql://me@db/shop", "table": "sales"})[0]) == "postgres://db:5432/shop.public.sales"
    assert [str(each) for each in outside("kafka", {"bootstrap.servers": "a,b", "topic": "x, y"})] == [
        "kafka://a:9092/x",
        "kafka://a:9092/y",
    ]
    assert outside("console", {}) == ()
    assert outside("files", {"path": "./in"}) == outside("files", {"path": "in/"})
    (pattern,) = outside("kafka", {"bootstrap.servers": "a", "topic.pattern": "x_("})
    assert not pattern.stands_for(outside("kafka", {"bootstrap.servers": "a", "topic": "x_"})[0])


def test_edges_that_only_decide_stay_so() -> None:
    found = lineage(
        "CREATE STREAM a AS SELECT CASE WHEN w > 1 THEN 1 ELSE 0 END AS f FROM t; CREATE STREAM b AS SELECT SUM(f) AS n FROM a;"
    )
    kinds = {edge.kind for edge in found.edges if edge.output.column == "f"}
    assert kinds == {EdgeKind.CONDITIONAL}
