"""The lateness rule: its table form and its SQL form agree, and no other module spells it."""

from __future__ import annotations

import ast
import sqlite3
from pathlib import Path

import polars as pl
import pytest

from windrow.model.lateness import late_by, latest_end_over
from windrow.spark.compile.sql_time import SqlTime
from windrow.windowing.lateness import is_open_sql, is_over, is_over_sql

SRC = Path(__file__).resolve().parents[3] / "src" / "windrow"


@pytest.mark.parametrize("lateness", [0, 5])
@pytest.mark.parametrize("watermark", [-6, -5, -1, 9, 10, 14, 15, 16])
def test_all_forms_of_the_rule_agree(lateness: int, watermark: int) -> None:
    for end in (-10, 0, 10):
        one = is_over(end, lateness, watermark)
        column = pl.DataFrame({"end": [end]}).select(is_over(pl.col("end"), lateness, watermark)).item()
        sql = is_over_sql(SqlTime(str(end)), lateness, str(watermark)).replace("L", "")
        open_sql = is_open_sql(SqlTime(str(end)), lateness, str(watermark)).replace("L", "")
        told = sqlite3.connect(":memory:").execute(f"SELECT {sql}, {open_sql}").fetchone()
        assert column is one
        assert told == (one, not one)
        assert (end <= latest_end_over(watermark, lateness)) is one
        assert (late_by(end, lateness, watermark) >= 0) is one


def _names_lateness(node: ast.expr) -> bool:
    return (isinstance(node, ast.Name) and node.id == "lateness") or (isinstance(node, ast.Attribute) and node.attr == "lateness")


def _spells_rule(node: ast.AST) -> bool:
    """Something plus or less an allowed lateness, or one compared with anything but zero.

    To allow for more (``lateness + extra``) is none.
    """
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub(), right=right):
            return _names_lateness(right)
        case ast.Compare(left=left, comparators=[ast.expr() as other]) if not isinstance(other, ast.Constant):
            return _names_lateness(left) or _names_lateness(other)
        case _:
            return False


def test_no_other_module_spells_the_rule() -> None:
    spelled = {
        f"{path.relative_to(SRC)}: {ast.unparse(node)}"
        for path in SRC.rglob("*.py")
        if path.relative_to(SRC).as_posix() != "model/lateness.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if _spells_rule(node)
    }
    assert spelled == set()
