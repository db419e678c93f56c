"""The texts of the demo with a server: each compiles, and the second reads what the first writes. That it runs is tried by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from windrow.cli.demo_server import JOBS, demo_texts
from windrow.compiler import compile_sql
from windrow.lineage import lineage_of


def test_every_text_compiles_without_a_warning_and_they_are_linked(tmp_path: Path) -> None:
    texts = demo_texts(tmp_path, datetime(2026, 11, 19, 20, 30, 59, tzinfo=UTC))
    assert tuple(texts) == JOBS
    compiled = {name: compile_sql(sql, f"{name}.sql", {}) for name, sql in texts.items()}
    assert {name: [one.message for one in found.warnings] for name, found in compiled.items()} == {name: [] for name in JOBS}
    assert "2026-11-19T14:30:00Z" in texts["shop"]
    lineage = {name: lineage_of(found.plan, name) for name, found in compiled.items()}
    written = {str(outside) for _, outside in lineage["shop"].writes}
    assert written & {str(outside) for _, outside in lineage["board"].reads}
