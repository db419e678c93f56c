"""Writing a run down: the tables of docs/performance.md are made from these files, the newest run of each benchmark."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

FOLDER = Path(__file__).parent / "results"


def save(benchmark: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> Path:
    """Replace the file of a benchmark. ``python tools/generate_reference.py`` then writes the page."""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=FOLDER, capture_output=True, text=True, check=True).stdout.strip()
    machine = f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, Spark {version('pyspark')}"
    result = {
        "benchmark": benchmark,
        "title": title,
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit,
        "machine": machine,
        "columns": list(columns),
        "rows": [list(row) for row in rows],
        "note": note,
    }
    path = FOLDER / f"{benchmark}.json"
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
