"""What a state folder is recognised by."""

from __future__ import annotations

from pathlib import Path

import pytest

from windrow.compiling import compile_sql
from windrow.errors import UsageError
from windrow.jobs.identity import claim
from windrow.spark.folders import LocalFolder

SQL = """
CREATE STREAM t (k STRING) WITH ('connector' = 'generator');
CREATE STREAM o AS SELECT k PRIMARY KEY FROM t WITH (
  'connector' = 'postgres', 'table' = '{table}', 'password' = '{password}', 'url' = '{url}');
"""


def claimed(folder: LocalFolder, password: str = "a", table: str = "o", url: str = "postgresql://db/shop") -> str:
    compiled = compile_sql(SQL.format(password=password, table=table, url=url), "t.sql", {})
    return claim(folder, compiled.plan.jobs[0])


def test_a_new_password_leaves_the_state_what_it_was(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    assert claimed(folder) == claimed(folder, password="b", url="postgresql://other/shop")


def test_another_table_makes_it_another_job(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    claimed(folder)
    with pytest.raises(UsageError, match="WR804"):
        claimed(folder, table="p")
