from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.conftest import Windrow

LAID_OUT = "-- @owner: us\nSELECT a\nFROM t\nWHERE a > 1;\n"


def test_it_prints_the_canonical_layout(windrow: Windrow) -> None:
    done = windrow("fmt", "-", stdin="-- @owner: us\nselect a from t where a>1")
    assert (done.exit_code, done.stdout, done.stderr) == (0, LAID_OUT, "")


def test_check_says_whether_it_would_change(windrow: Windrow) -> None:
    Path("a.sql").write_text(LAID_OUT)
    Path("b.sql").write_text("select 1 from t")
    assert windrow("fmt", "--check", "a.sql").exit_code == 0
    assert windrow("fmt", "--check", "b.sql").exit_code == 1


def test_write_rewrites_in_place(windrow: Windrow) -> None:
    Path("b.sql").write_text("-- @owner: us\nselect a from t where a>1")
    assert windrow("fmt", "--write", "b.sql").stdout == "b.sql: formatted\n"
    assert Path("b.sql").read_text() == LAID_OUT
    assert windrow("fmt", "--write", "b.sql").stdout == "b.sql: unchanged\n"


@pytest.mark.parametrize(
    ("sql", "laid_out"),
    [
        ("-- why\nselect a from t", "-- why\nSELECT a\nFROM t;\n"),
        ("select a /* why */ from t", "SELECT a /* why */\nFROM t;\n"),
        ("select a from t -- @late: note", "SELECT a\nFROM t -- @late: note\n;\n"),
        ("select a, -- one\nb from t", "SELECT a, -- one\n  b\nFROM t;\n"),
        ("select a -- one\n, b /* two */, c from t", "SELECT a -- one\n  , b /* two */, c\nFROM t;\n"),
        ("select a\n-- where from\nfrom t", "SELECT a\n-- where from\nFROM t;\n"),
        ("select a from t; -- done\n\n-- next\nselect b from t", "SELECT a\nFROM t; -- done\n\n-- next\nSELECT b\nFROM t;\n"),
        ("-- head\n\n-- why\n-- @owner: us\nselect a from t", "-- head\n\n-- why\n-- @owner: us\nSELECT a\nFROM t;\n"),
        ("select a from t\n-- the end", "SELECT a\nFROM t;\n\n-- the end\n"),
        ("select a from t\n-- the end\n;", "SELECT a\nFROM t\n  -- the end\n;\n"),
        ("select a from t emit changes -- soon\nwhere a>1 -- few", "SELECT a\nFROM t\nWHERE a > 1 -- few\nEMIT CHANGES; -- soon\n"),
        ("select a from t where a in (1, -- one\n2)", "SELECT a\nFROM t\nWHERE a IN (1, -- one\n  2);\n"),
        ("( -- @x: y\nselect a from t)", "SELECT -- @x: y\n  a\nFROM t;\n"),
        ("select '${A}' -- ${A} $${A}\nfrom t", "SELECT '${A}' -- ${A} $${A}\nFROM t;\n"),
    ],
)
def test_comments_stay_where_they_are(windrow: Windrow, sql: str, laid_out: str) -> None:
    Path("b.sql").write_text(sql)
    done = windrow("fmt", "--write", "b.sql")
    assert (done.exit_code, done.stderr) == (0, "")
    assert Path("b.sql").read_text() == laid_out
    assert windrow("fmt", "--check", "b.sql").exit_code == 0


def test_what_only_looks_like_a_comment_is_none(windrow: Windrow) -> None:
    done = windrow("fmt", "-", stdin="select '-- no' as a, '/* no */' as b from t")
    assert (done.exit_code, done.stderr) == (0, "")


def test_placeholders_stay_and_no_secret_gets_in(windrow: Windrow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "hunter2")
    sql = "create stream t (a int) with ('connector' = 'x', 'token' = '${TOKEN:?give one}', 'literal' = '$${TOKEN}')"
    done = windrow("fmt", "-", stdin=sql)
    assert "'${TOKEN:?give one}'" in done.stdout
    assert "'$${TOKEN}'" in done.stdout
    assert windrow("fmt", "-", stdin=done.stdout).stdout == done.stdout


def test_a_placeholder_outside_of_quotes_is_refused(windrow: Windrow) -> None:
    done = windrow("fmt", "-", stdin="select a from t\nwindow tumbling(${SIZE})")
    assert done.exit_code == 2
    assert "[WR617]" in done.stderr
    assert "${SIZE} outside of quotes (line 2)" in done.stderr


def test_check_and_write_exclude_each_other(windrow: Windrow) -> None:
    assert "[WR619]" in windrow("fmt", "--check", "--write", "a.sql").stderr
