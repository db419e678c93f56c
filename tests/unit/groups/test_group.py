"""Several files together: who reads what of whom, what does not fit, what is computed once and what could be."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import windrow
from tests.unit.groups.conftest import ORDERS, folder, group, topic
from windrow.diagnosis.analysis import Analysis, analyze
from windrow.errors import UsageError
from windrow.groups import Verdict
from windrow.groups.opportunities import opportunities
from windrow.groups.report import GroupReport
from windrow.groups.sharing import shared_in
from windrow.lineage import downstream, find_column
from windrow.observe.batch_record import BatchRecord, OperatorRecord

REVENUE = f"""
-- @owner: team-a
-- @version: 3
{ORDERS}
CREATE STREAM revenue AS SELECT customer, SUM(amount) AS total FROM orders WHERE amount > 0 GROUP BY customer WINDOW TUMBLING(1m)
  WITH {topic("revenue")};
"""
BIG = f"""
-- @owner: team-b
CREATE STREAM revenue (customer STRING, total DOUBLE) WITH {topic("revenue")};
CREATE STREAM big AS SELECT customer, total FROM revenue WHERE total > 100 WITH {folder("out/big")};
"""


def kinds(**files: str) -> list[str]:
    return [one.kind for one in group(**files).conflicts()]


def test_files_that_fit() -> None:
    found = group(a=REVENUE, b=BIG)
    assert [f"{writer} -> {reader}" for writer, reader in found.links()] == ["revenue of a.sql -> revenue of b.sql"]
    assert found.conflicts() == []
    assert [(member.about("owner"), member.about("version")) for member in found.members] == [("team-a", "3"), ("team-b", None)]


def test_two_writers_of_one_place() -> None:
    other = f"{ORDERS} CREATE STREAM mine AS SELECT customer, amount AS total FROM orders WITH {topic('revenue')};"
    (conflict,) = group(a=REVENUE, b=other).conflicts()
    assert conflict.text == "kafka://b:9092/revenue is written by revenue of a.sql and mine of b.sql"
    assert conflict.files == ("a.sql", "b.sql")


def test_columns_that_do_not_fit() -> None:
    assert kinds(a=REVENUE, b=BIG.replace("total DOUBLE", "total FLOAT")) == ["type"]
    assert kinds(a=REVENUE, b=BIG.replace("total DOUBLE", "total DOUBLE, extra INT")) == ["missing_column"]
    assert kinds(a=REVENUE, b=BIG.replace("'format' = 'json');\nCREATE STREAM big", "'format' = 'csv');\nCREATE STREAM big")) == ["format"]
    assert kinds(a=ORDERS + "SELECT id FROM orders", b=ORDERS.replace("id BIGINT", "id STRING") + "SELECT id FROM orders") == ["type"]


def test_a_wider_type_of_the_reader_fits() -> None:
    narrow = REVENUE.replace("SUM(amount) AS total", "CAST(SUM(amount) AS INT) AS total")
    assert kinds(a=narrow, b=BIG) == []


def test_circles_through_files() -> None:
    back = f"""CREATE STREAM revenue (customer STRING, total DOUBLE) WITH {topic("revenue")};
      CREATE STREAM again AS SELECT CAST(1 AS BIGINT) AS id, customer, total AS amount, NOW() AS ts FROM revenue WITH {topic("orders")};"""
    found = group(a=REVENUE, b=back)
    assert found.circles() == [("a.sql", "b.sql")]
    assert found.conflicts()[0].text == "rows go in a circle: a.sql -> b.sql -> a.sql"
    alone = ORDERS + f"CREATE STREAM again AS SELECT * FROM orders WITH {topic('orders')};"
    assert group(a=alone).circles() == [("a.sql",)]


SHARING = f"""
{ORDERS}
CREATE TABLE names (customer STRING, name STRING, PRIMARY KEY (customer)) WITH {folder("names")};
CREATE STREAM paid AS SELECT * FROM orders WHERE amount > 0;
CREATE STREAM minutes AS SELECT customer, SUM(amount) AS total FROM paid GROUP BY customer WINDOW TUMBLING(1m);
CREATE STREAM hours AS SELECT customer, MAX(amount) AS high FROM paid GROUP BY customer WINDOW TUMBLING(1h);
CREATE STREAM named AS SELECT p.id, n.name FROM paid p JOIN names n ON p.customer = n.customer;
CREATE STREAM also AS SELECT p.ts, n.name FROM paid p JOIN names n ON p.customer = n.customer;
"""


def test_what_the_plan_computes_once() -> None:
    (member,) = group(a=SHARING).members
    found = {(one.kind, one.name): one.users for one in shared_in(member, {})}
    assert found == {
        ("table", "names"): ("named", "also"),
        ("statement", "paid"): ("minutes", "hours", "named", "also"),
        ("pass", "paid"): ("minutes", "hours"),
    }


def test_a_source_that_two_files_read() -> None:
    found = opportunities(group(a=REVENUE, b=ORDERS + "SELECT id FROM orders"), {})
    assert [(one.kind, one.change) for one in found] == [
        ("same_source", "put the statements over kafka://b:9092/orders into one file: its job reads it once")
    ]
    differing = ORDERS.replace("'event.time.field' = 'ts'", "'event.time.field' = 'ts', 'watermark.delay' = '5s'")
    (one,) = opportunities(group(a=REVENUE, b=differing + "SELECT id FROM orders"), {})
    assert "watermark.delay us" in one.change


def test_statements_that_compute_the_same_in_two_files() -> None:
    other = (
        ORDERS
        + f"""CREATE STREAM sums AS SELECT customer, SUM(amount) AS total FROM orders WHERE amount > 0
      GROUP BY customer WINDOW TUMBLING(1m) WITH {topic("sums")};"""
    )
    found = {one.kind: one for one in opportunities(group(a=REVENUE, b=other), {})}
    assert [str(use) for use in found["same_statement"].uses] == ["revenue of a.sql", "sums of b.sql"]
    changed = other.replace("SUM(amount)", "MAX(amount)")
    assert "same_statement" not in {one.kind for one in opportunities(group(a=REVENUE, b=changed), {})}


def test_statements_that_group_alike_and_share_no_pass() -> None:
    sql = (
        ORDERS
        + """
      CREATE STREAM a AS SELECT customer, SUM(amount) AS s FROM orders GROUP BY customer WINDOW TUMBLING(1m);
      CREATE STREAM b AS SELECT customer, SUM(amount) AS s FROM orders GROUP BY customer WINDOW SESSION(5m);"""
    )
    (one,) = opportunities(group(a=sql), {})
    assert (one.kind, one.change, one.is_at_most) == ("same_groups", "b: only windows of fixed length share a pass", True)


def test_a_condition_that_two_statements_ask() -> None:
    sql = ORDERS + "CREATE STREAM a AS SELECT id FROM orders WHERE amount > 1; CREATE STREAM b AS SELECT ts FROM orders WHERE amount > 1;"
    (one,) = opportunities(group(a=sql), {})
    assert one.change.startswith("CREATE STREAM filtered AS SELECT * FROM orders WHERE amount > 1")


def test_what_is_saved_is_what_was_measured() -> None:
    """Two batches of the job of each file; that of b takes longer to read."""
    found = group(a=REVENUE, b=ORDERS + "SELECT id FROM orders")
    measured: dict[tuple[str, str], Analysis] = {}
    for member, seconds in zip(found.members, (1.0, 3.0), strict=True):
        (job,) = member.plan.jobs
        operators = (OperatorRecord("orders", "read", rows_in=1000, seconds=seconds),)
        records = [BatchRecord(number, seconds=2 * seconds, operators=operators) for number in range(2)]
        measured[member.file, job.name] = analyze(job, records)
    (one,) = opportunities(found, measured)
    assert one.words == "2.00 s for 2,000 rows in 2 batches, 50% of their time"
    (alone,) = opportunities(found, dict(list(measured.items())[:1]))
    assert alone.words.startswith("not measured")


def test_a_report_in_every_form() -> None:
    report = GroupReport.of(group(a=REVENUE, b=BIG), {})
    text = report.text()
    assert text.startswith("a.sql: version 3, owner team-a\n   reads   kafka://b:9092/orders as orders\n")
    assert "revenue of a.sql -> kafka://b:9092/revenue -> revenue of b.sql" in text
    told = json.loads(json.dumps(report.to_json()))
    assert [place["name"] for place in told["places"]] == ["orders", "revenue", "out/big"]
    assert told["files"][0]["statements"] == [{"name": "revenue", "owner": "team-a", "version": "3"}]
    svg = ElementTree.fromstring(report.draw("svg"))
    assert len(svg.findall("{http://www.w3.org/2000/svg}path")) == 4
    assert report.draw("dot").count(" -> ") == 4
    assert report.draw("mermaid").count(" --> ") == 4


def test_explain_of_all_statements() -> None:
    sql = SHARING + "EXPLAIN MULTI_QUERY; EXPLAIN SHARED_RESOURCES; EXPLAIN OPTIMIZATION_OPPORTUNITIES;"
    first, second, third = (str(one) for one in windrow.compile(sql).answers)
    assert "reads   kafka://b:9092/orders as orders" in first
    assert "statement paid of this file: computed once for minutes, hours, named, also" in second
    assert third.startswith("could be shared")


def test_files_and_compiled_files_from_python(tmp_path: Path) -> None:
    first, second = tmp_path / "a.sql", tmp_path / "b.sql"
    first.write_text(REVENUE)
    second.write_text(BIG)
    lineage = windrow.lineage(first, second)
    found = downstream(lineage, find_column(lineage, "orders.amount")).columns()
    assert "file/out/big.total" in {str(column) for column in found}
    assert windrow.group(str(first), windrow.compile(BIG, name="b.sql")).group.conflicts() == []
    old = windrow.compile(REVENUE.replace("> 0", "> 5"))
    assert windrow.impact(first, old, second).verdict is Verdict.VALUES
    assert windrow.impact(first, first).verdict is Verdict.NONE
    with pytest.raises(UsageError, match="cannot read"):
        windrow.lineage(tmp_path / "nowhere.sql")
