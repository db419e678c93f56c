from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.unit.cli.conftest import Windrow

SQL = """CREATE STREAM t (a INT, b INT) WITH ('connector' = 'files', 'path' = 'in', 'format' = 'json');
SELECT a + b AS c FROM t WHERE a > 1"""


@pytest.fixture
def file(windrow: Windrow) -> str:
    Path("q.sql").write_text(SQL)
    return "q.sql"


def test_every_format(windrow: Windrow, file: str) -> None:
    assert windrow("lineage", file).stdout.startswith("q.sql: t, read from file/in\n   a, b\n\nq.sql: out\n   c  <- t.a (transformation)")
    assert len(json.loads(windrow("lineage", file, "--format", "json").stdout)["edges"]) == 7
    assert windrow("lineage", file, "--format", "dot").stdout.startswith("digraph lineage {")
    assert windrow("lineage", file, "--format", "mermaid").stdout.startswith("flowchart LR")
    ElementTree.fromstring(windrow("lineage", file, "--format", "svg").stdout)
    assert json.loads(windrow("lineage", file, "--format", "openlineage").stdout)[0]["job"]["name"] == "q"


def test_up_and_down(windrow: Windrow, file: str) -> None:
    assert windrow("lineage", file, "--column", "out.c").stdout.startswith("out.c\n├─ <- t.a  [transformation: a + b]\n")
    assert windrow("lineage", file, "--column", "t.a", "--down").stdout == (
        "t.a\n├─ -> out.c  [transformation: a + b]\n└─ -> rows of out  [filter]\n"
    )
    assert [edge["output"]["column"] for edge in json.loads(
        windrow("lineage", file, "--column", "t.b", "--down", "--format", "json").stdout
    )["edges"]] == ["c"]  # fmt: skip


def test_questions_that_make_no_sense(windrow: Windrow, file: str) -> None:
    for words, code in [
        (("--down",), "WR619"),
        (("--column", "t.a", "--up", "--down"), "WR619"),
        (("--column", "t.a", "--format", "openlineage"), "WR619"),
        (("--column", "t.z"), "WR670"),
        (("--column", "a"), "WR670"),
    ]:
        done = windrow("lineage", file, *words)
        assert (done.exit_code, done.stderr[:7]) == (2, f"[{code}]")
    assert windrow("lineage", file, "--format", "png").exit_code == 2


def test_explain_lineage_in_a_file(windrow: Windrow) -> None:
    done = windrow("run", "-", stdin=SQL.replace("SELECT", "EXPLAIN LINEAGE SELECT", 1))
    assert "   c  <- t.a (transformation), t.b (transformation)   a + b\n" in done.stdout
