"""Benchmark results as tables: one file a benchmark in ``benchmarks/results``, its newest run."""

from __future__ import annotations

import json

from tools.reference.markdown import ROOT, table


def result_table(benchmark: str) -> str:
    """The table with what it is, and the day, commit and machine of the run."""
    result = json.loads((ROOT / "benchmarks" / "results" / f"{benchmark}.json").read_text(encoding="utf-8"))
    note = f"; {result['note']}" if result["note"] else ""
    heading = f"**{result['title']}.** {result['date']}, commit `{result['commit']}`, {result['machine']}{note}."
    return f"{heading}\n\n{table(result['columns'], result['rows'])}"
