"""Projects to start from: sources, queries, cases, ``windrow.yaml`` and made-up rows, as folders of files beside this module.

Takes the name of a preset and a folder; gives its files there. Must not know: anything else of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from windrow.errors import UsageError

FILE_THERE, UNWRITABLE = "WR548", "WR562"
_HOME = Path(__file__).parent

PRESETS: Mapping[str, str] = MappingProxyType(
    {
        "llm-ops": "language models in operation: latency, cost, feedback, anomalies, experiments",
        "trading": "candles of trades, and prices unlike those before",
        "iot": "devices and meters: smoothed readings, alarms, silence",
        "otel": "spans of OpenTelemetry: rate, errors, duration, failed traces",
        "web": "views of pages, and visits",
    }
)

# Made of the queries of a project, once they are there.
BOARD, RULES = "dashboard.json", "alerts.yml"


def files_of(preset: str) -> dict[str, str]:
    """The text of each file by its path in the project.

    >>> sorted(files_of("web"))[:3]
    ['.gitignore', 'README.md', 'cases/web.jsonl']
    """
    home = _HOME / preset
    found = {path.relative_to(home).as_posix(): path.read_text(encoding="utf-8") for path in sorted(home.rglob("*")) if path.is_file()}
    # A file of that name would keep parts of this package out of its own repository.
    return {".gitignore": ".windrow/\n", **found}


def write_project(preset: str, folder: Path) -> list[str]:
    """Write the files of a preset, and none at all where one of them would be written over. Gives their paths."""
    files = files_of(preset)
    there = [name for name in (*files, BOARD, RULES) if (folder / name).exists()]
    if there:
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        raise UsageError(
            FILE_THERE, f"{folder / there[0]}{more} would be written over", f"windrow init {folder / preset} --preset {preset}"
        )
    try:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(UNWRITABLE, f"cannot write {error.filename}: {error.strerror}", "name another folder") from None
    return list(files)
