"""What a change does to who reads: column by column, in the file, in others, in metrics and alerts."""

from __future__ import annotations

import json

import pytest

import windrow
from tests.unit.groups.conftest import ORDERS, folder, member, topic
from windrow.groups import Group, Verdict
from windrow.groups.effects import Impact
from windrow.groups.impact import impact
from windrow.groups.verdicts import type_change
from windrow.model.types import BIGINT, DOUBLE, INT, STRING, UNKNOWN, Array, Decimal, Struct

OLD = f"""
-- @owner: team-a
{ORDERS}
-- @metric: revenue_total
-- @metric_type: gauge
-- @metric_field: total
-- @alert: TooMuch
-- @alert_condition: revenue_total > 100
CREATE STREAM revenue AS SELECT customer, SUM(amount) AS total, COUNT(*) AS n FROM orders WHERE amount > 0
  GROUP BY customer WINDOW TUMBLING(1m) WITH {topic("revenue")};
CREATE STREAM ids AS SELECT id, CAST(id AS INT) AS small FROM orders WITH {topic("ids")};
"""
READER = f"""
-- @owner: team-b
CREATE STREAM revenue (customer STRING, total DOUBLE) WITH {topic("revenue")};
CREATE STREAM big AS SELECT customer, total > 100 AS is_big FROM revenue WITH {folder("out/big")};
CREATE STREAM ids (small INT) WITH {topic("ids")};
CREATE STREAM doubled AS SELECT small * 2 AS twice FROM ids WITH {folder("out/doubled")};
"""


def changed(old: str, new: str) -> Impact:
    """Of the text ``old`` in the file, put as ``new``."""
    assert OLD.count(old) >= 1, old
    return impact(member("a.sql", OLD), member("a.sql", OLD.replace(old, new)), [member("b.sql", READER)])


def verdicts(found: Impact) -> dict[str, str]:
    return {effect.name: effect.verdict.words for effect in found.effects}


REVENUE = "kafka://b:9092/revenue"
EVERYTHING = {REVENUE: "values change", "revenue": "values change", "big": "values change", "file/out/big": "values change",
              "revenue_total": "values change", "TooMuch": "values change"}  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("-- @owner: team-a", "-- @owner: team-z\n-- a comment", {}),
        ("COUNT(*) AS n", "COUNT(*) AS n, MAX(amount) AS top", {}),
        ("SUM(amount) AS total", "SUM(amount * 2) AS total", EVERYTHING),
        ("COUNT(*) AS n", "COUNT(id) AS n", {REVENUE: "values change"}),
        ("WHERE amount > 0", "WHERE amount > 1", EVERYTHING),
        ("TUMBLING(1m)", "TUMBLING(2m)", EVERYTHING),
        (", COUNT(*) AS n", "", {REVENUE: "breaks"}),
        ("CAST(id AS INT) AS small", "id AS small", {"kafka://b:9092/ids": "type widens", "ids": "type widens", "doubled": "values change",
                                                     "file/out/doubled": "values change"}),
        ("CAST(id AS INT) AS small", "CAST(id AS STRING) AS small",
         {"kafka://b:9092/ids": "breaks", "ids": "breaks", "doubled": "breaks", "file/out/doubled": "breaks"}),
        ("'topic' = 'ids'", "'topic' = 'ids2'",
         {"kafka://b:9092/ids": "breaks", "ids": "breaks", "doubled": "breaks", "file/out/doubled": "breaks"}),
        ("revenue_total > 100", "revenue_total > 10", {"TooMuch": "values change"}),
        ("-- @metric_field: total", "-- @metric_field: total\n-- @metric_labels: n", {"revenue_total": "breaks", "TooMuch": "breaks"}),
        ("-- @alert: TooMuch\n-- @alert_condition: revenue_total > 100", "", {"TooMuch": "breaks"}),
    ],
)  # fmt: skip
def test_who_is_affected_and_how(old: str, new: str, expected: dict[str, str]) -> None:
    assert verdicts(changed(old, new)) == expected


def test_a_renamed_column_breaks_its_readers_and_its_metric() -> None:
    new = OLD.replace("SUM(amount) AS total", "SUM(amount) AS sum").replace("@metric_field: total", "@metric_field: sum")
    found = verdicts(impact(member("a.sql", OLD), member("a.sql", new), [member("b.sql", READER)]))
    assert found == {REVENUE: "breaks", "revenue": "breaks", "big": "breaks", "file/out/big": "breaks", "revenue_total": "values change",
                     "TooMuch": "values change"}  # fmt: skip


def test_the_verdict_is_that_of_who_reads() -> None:
    assert changed("SUM(amount) AS total", "SUM(amount * 2) AS total").verdict is Verdict.VALUES
    inner = ORDERS + "CREATE STREAM a AS SELECT id, amount FROM orders; CREATE STREAM b AS SELECT id FROM a;"
    found = impact(member("a.sql", inner), member("a.sql", inner.replace("SELECT id, amount", "SELECT id")))
    # Nobody reads the column that is gone.
    assert [change.verdict for change in found.changes] == [Verdict.BREAKS]
    assert (found.verdict, found.effects) == (Verdict.NONE, ())


def test_a_source_of_another_topic_and_one_that_is_decoded_otherwise() -> None:
    assert changed("'topic' = 'orders'", "'topic' = 'orders2'").verdict is Verdict.VALUES
    other = OLD.replace("'format' = 'json', 'event.time.field'", "'format' = 'csv', 'event.time.field'")
    found = impact(member("a.sql", OLD), member("a.sql", other))
    assert found.verdict is Verdict.BREAKS
    assert "cannot be proved" in found.effects[0].because


def test_a_type_that_is_not_known_proves_nothing() -> None:
    old = ORDERS + f"CREATE STREAM a AS SELECT from_json(customer, 'v INT') AS v FROM orders WITH {topic('a')};"
    found = impact(member("a.sql", old), member("a.sql", old.replace("'v INT'", "'v BIGINT'")))
    assert found.verdict is Verdict.BREAKS


def test_columns_of_csv_are_known_by_their_place() -> None:
    old = ORDERS + "CREATE STREAM a AS SELECT id, amount FROM orders WITH ('connector' = 'files', 'path' = 'out', 'format' = 'csv');"
    assert impact(member("a.sql", old), member("a.sql", old.replace("id, amount", "amount, id"))).verdict is Verdict.BREAKS
    json_old = old.replace("csv", "json")
    assert impact(member("a.sql", json_old), member("a.sql", json_old.replace("id, amount", "amount, id"))).verdict is Verdict.NONE


def test_a_new_column_of_a_table_outside() -> None:
    there = "('connector' = 'postgres', 'url' = 'postgresql://db/shop', 'table' = 'sales')"
    old = ORDERS + f"CREATE STREAM a AS SELECT id FROM orders WITH {there};"
    found = impact(member("a.sql", old), member("a.sql", old.replace("SELECT id", "SELECT id, amount")))
    assert [change.text for change in found.changes] == ["is new: that the table has it cannot be proved"]


def test_columns_that_a_join_carries_change_nothing_for_the_others() -> None:
    old = (
        ORDERS
        + f"""CREATE STREAM p (id BIGINT, at TIMESTAMP) WITH ('connector' = 'files', 'path' = 'p', 'event.time.field' = 'at');
      CREATE STREAM j AS SELECT o.id FROM orders o JOIN p ON o.id = p.id AND p.at BETWEEN o.ts AND o.ts + INTERVAL '1' MINUTE
      WITH {topic("j")};"""
    )
    assert impact(member("a.sql", old), member("a.sql", old.replace("SELECT o.id", "SELECT o.id, o.amount"))).effects == ()
    assert impact(member("a.sql", old), member("a.sql", old.replace("'1' MINUTE", "'2' MINUTE"))).verdict is Verdict.VALUES


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (INT, INT, Verdict.NONE),
        (INT, BIGINT, Verdict.WIDENS),
        (INT, DOUBLE, Verdict.WIDENS),
        (BIGINT, DOUBLE, Verdict.BREAKS),
        (BIGINT, INT, Verdict.BREAKS),
        (INT, STRING, Verdict.BREAKS),
        (INT, Decimal(10, 0), Verdict.WIDENS),
        (INT, Decimal(9, 0), Verdict.BREAKS),
        (Decimal(10, 2), Decimal(12, 4), Verdict.WIDENS),
        (Decimal(10, 2), Decimal(12, 5), Verdict.BREAKS),
        (Array(INT), Array(BIGINT), Verdict.WIDENS),
        (Struct((("a", INT),)), Struct((("a", INT), ("b", INT))), Verdict.WIDENS),
        (Struct((("a", INT),)), Struct((("b", INT),)), Verdict.BREAKS),
        (INT, UNKNOWN, Verdict.BREAKS),
    ],
    ids=str,
)
def test_types(old: object, new: object, expected: Verdict) -> None:
    assert type_change(old, new) is expected  # type: ignore[arg-type]


def test_text_and_json_say_the_same() -> None:
    found = changed(", COUNT(*) AS n", "")
    text = found.text("old.sql")
    assert "   breaks         revenue.n is gone\n" in text
    assert "   breaks         output kafka://b:9092/revenue (owner team-a): n\n" in text
    assert text.endswith("verdict: breaks")
    told = json.loads(json.dumps(found.to_json("old.sql")))
    assert told["verdict"] == "breaks"
    assert told["affected"][0]["columns"] == {"n": "breaks"}
    assert impact(member("a.sql", OLD), member("a.sql", OLD)).text("old.sql").endswith("can tell\nverdict: none")


EXPLAINED = (
    ORDERS
    + """
CREATE STREAM paid AS SELECT id, amount FROM orders WHERE amount > 0;
CREATE STREAM sums AS SELECT id, SUM(amount) AS total FROM paid GROUP BY id WINDOW TUMBLING(1m);
CREATE STREAM tops AS SELECT MAX(total) AS top FROM sums WINDOW TUMBLING(1h);
"""
)


def explained(statement: str) -> str:
    return str(windrow.compile(f"{EXPLAINED} EXPLAIN IMPACT {statement}").answers[-1])


def test_explain_impact_of_a_statement() -> None:
    text = explained("CREATE STREAM paid AS SELECT id, amount * 2 AS amount FROM orders WHERE amount > 0")
    assert "values change  paid.amount is amount * 2, and was amount" in text
    assert "values change  sums of this file: total" in text
    assert text.endswith("verdict: values change")


def test_explain_impact_tells_which_statements_can_no_longer_be_made() -> None:
    text = explained("CREATE STREAM paid AS SELECT id FROM orders WHERE amount > 0")
    assert "breaks         sums of this file" in text
    assert "breaks         tops of this file" in text
    assert text.endswith("verdict: breaks")


def test_explain_impact_of_a_new_statement() -> None:
    assert explained("SELECT id FROM paid").endswith("verdict: none")


def test_who_reads_by_a_pattern_of_topics_is_affected() -> None:
    reader = """CREATE STREAM all_of_it (customer STRING, total DOUBLE) WITH ('connector' = 'kafka', 'topic.pattern' = 'rev.*',
      'bootstrap.servers' = 'b:9092', 'format' = 'json'); CREATE STREAM c AS SELECT total FROM all_of_it;"""
    old, new = member("a.sql", OLD), member("a.sql", OLD.replace("SUM(amount)", "MAX(amount)"))
    found = impact(old, new, [member("b.sql", reader)])
    assert {effect.name: effect.verdict for effect in found.effects if effect.file == "b.sql"} == {
        "all_of_it": Verdict.VALUES,
        "c": Verdict.VALUES,
    }
    assert [str(each) for pair in Group((old, member("b.sql", reader))).links() for each in pair] == [
        "revenue of a.sql",
        "all_of_it of b.sql",
    ]
