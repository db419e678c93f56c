"""One answer: rows for programs, text for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow.model.statement import Statement


@dataclass(frozen=True)
class Answer:
    """``facts`` are labelled lines below the rows."""

    statement: Statement
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    facts: tuple[tuple[str, str], ...] = ()

    def to_dicts(self) -> list[dict[str, str]]:
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def __str__(self) -> str:
        width = max((len(label) for label, _ in self.facts), default=0)
        facts = [f"{label.ljust(width)}  {text}".rstrip() for label, text in self.facts]
        parts = [[self.title] if self.title else [], aligned(self.columns, self.rows), facts]
        return "\n\n".join("\n".join(part) for part in parts if part)


def aligned(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table as lines of text. A table of one column needs no head.

    >>> aligned(("name", "type"), [("symbol", "STRING"), ("v", "INT")])
    ['name    type', 'symbol  STRING', 'v       INT']
    """
    if not rows:
        return []
    if len(columns) == 1:
        return [row[0] for row in rows]
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    return ["  ".join(value.ljust(width) for value, width in zip(row, widths, strict=True)).rstrip() for row in [columns, *rows]]
