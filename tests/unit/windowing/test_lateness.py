"""The lateness rule: its table form and its SQL form agree, and no other module spells it."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import polars as pl
import pytest

from windrow.spark.compile.sql_time import SqlTime
from windrow.windowing.lateness import is_open_sql, is_over, is_over_sql, late_by, latest_end_over

SRC = Path(__file__).resolve().parents[3] / "src" / "windrow"
# Sums and comparisons with an allowed lateness in them.
SPELLED = re.compile(r"[\w)\]] \+ \w+(?:\.\w+)*\.?\blateness\b|\blateness\b\)? (?:<=|>=|<|>) \w*(?:watermark|mark|reached)")


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


def test_no_other_module_spells_the_rule() -> None:
    """Durations may be put together (how long a row is kept); when a window is over is asked of the one module."""
    spelled = {
        f"{path.relative_to(SRC)}: {line.strip()}"
        for folder in ("windowing", "spark")
        for path in (SRC / folder).rglob("*.py")
        if path.name != "lateness.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if SPELLED.search(line) and "Until(" not in line
    }
    assert spelled == set()
