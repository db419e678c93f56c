"""Where pages stand, and how tables are written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TESTS = ROOT / "tests"
NOTICE = "<!-- Written by tools/generate_reference.py: change the code, then run it again. -->"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table.

    >>> print(table(["a"], [["x | y"]]))
    | a |
    |---|
    | x \\| y |
    """
    names = list(heads)
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines.extend("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows)
    return "\n".join(lines)


def code(text: str) -> str:
    return f"`{text}`" if text else ""
