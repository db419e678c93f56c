"""Who is affected by a change, as values, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from windrow.groups.differences import Difference
from windrow.groups.verdicts import Verdict
from windrow.lineage import ROWS

_WIDTH = max(len(verdict.words) for verdict in Verdict)


@dataclass(frozen=True)
class Effect:
    """``kind`` is statement, output, metric or alert. ``columns`` are those that are affected; none where all are, because rows are.

    ``because`` is the change that it follows from.
    """

    kind: str
    file: str
    name: str
    owner: str | None
    verdict: Verdict
    columns: Mapping[str, Verdict]
    because: str


@dataclass(frozen=True)
class Impact:
    file: str
    changes: tuple[Difference, ...]
    effects: tuple[Effect, ...]

    @property
    def verdict(self) -> Verdict:
        """The worst for anybody who reads it: a column that nobody reads may go."""
        return max((effect.verdict for effect in self.effects), default=Verdict.NONE)

    def text(self, against: str) -> str:
        if not self.changes:
            return f"{self.file} against {against}: nothing has changed that a reader can tell\nverdict: none"
        lines = [f"{self.file} against {against}", "", "changed", *(f"   {_changed(change)}" for change in self.changes)]
        lines += ["", "affected", *(f"   {line}" for line in _affected(self))]
        return "\n".join([*lines, "", f"verdict: {self.verdict.words}"])

    def to_json(self, against: str) -> dict[str, Any]:
        return {
            "file": self.file,
            "against": against,
            "verdict": self.verdict.words,
            "changes": [
                {
                    "dataset": change.column.dataset.name,
                    "is_outside": change.column.dataset.is_outside,
                    "column": None if change.column.column == ROWS else change.column.column,
                    "verdict": change.verdict.words,
                    "text": change.text,
                }
                for change in self.changes
            ],
            "affected": [
                {
                    "kind": effect.kind,
                    "file": effect.file or None,
                    "name": effect.name,
                    "owner": effect.owner,
                    "verdict": effect.verdict.words,
                    "columns": {name: verdict.words for name, verdict in effect.columns.items()},
                    "because": effect.because,
                }
                for effect in self.effects
            ],
        }


def _changed(change: Difference) -> str:
    return f"{change.verdict.words.ljust(_WIDTH)}  {change.column} {change.text}"


def _affected(impact: Impact) -> Iterator[str]:
    if not impact.effects:
        yield "nobody: no statement, output, metric or alert of these files follows from it"
    for effect in impact.effects:
        whose = f" of {effect.file}" if effect.file and effect.kind != "output" else ""
        owner = f" (owner {effect.owner})" if effect.owner else ""
        columns = f": {_columns(effect)}" if effect.columns else ""
        kind = "" if effect.kind == "statement" else f"{effect.kind} "
        yield f"{effect.verdict.words.ljust(_WIDTH)}  {kind}{effect.name}{whose}{owner}{columns}"
        yield f"{' ' * _WIDTH}  because {effect.because}"


def _columns(effect: Effect) -> str:
    verdicts = set(effect.columns.values())
    if len(verdicts) == 1:
        return ", ".join(effect.columns)
    return ", ".join(f"{name} ({verdict.words})" for name, verdict in effect.columns.items())
