"""Following edges: what a column is made of, and what it is used for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from windrow.errors import UsageError
from windrow.lineage.graph import ROWS, ColumnRef, Dataset, Edge, Lineage


@dataclass(frozen=True)
class Asked:
    """A column with the edges that lead away from it, each with what lies behind it. ``is_seen``: it was shown before."""

    column: ColumnRef
    edge: Edge | None
    behind: tuple[Asked, ...] = ()
    is_seen: bool = False

    def columns(self) -> list[ColumnRef]:
        """Every column that was come to, once."""
        found = dict.fromkeys([self.column])
        for below in self.behind:
            found.update(dict.fromkeys(below.columns()))
        return list(found)


def upstream(lineage: Lineage, column: ColumnRef) -> Asked:
    """What a column is made of, back to what is read. Which rows there are counts, too."""
    by_output: dict[ColumnRef, list[Edge]] = {}
    for edge in lineage.edges:
        by_output.setdefault(edge.output, []).append(edge)

    def steps(at: ColumnRef) -> list[tuple[Edge, ColumnRef]]:
        own = [(edge, edge.input) for edge in by_output.get(at, ())]
        if at.column == ROWS or at != column:
            return own
        # What decides about rows does so for every column. Behind it, rows come of rows, so it is told once.
        return own + [(edge, edge.input) for edge in by_output.get(at.rows, ()) if edge.input not in {found for _, found in own}]

    return _follow(column, None, steps, set())


def downstream(lineage: Lineage, column: ColumnRef) -> Asked:
    """What a change of a column may change, up to what is written."""
    by_input: dict[ColumnRef, list[Edge]] = {}
    for edge in lineage.edges:
        by_input.setdefault(edge.input, []).append(edge)
    return _follow(column, None, lambda at: [(edge, edge.output) for edge in by_input.get(at, ())], set())


def _follow(
    column: ColumnRef, edge: Edge | None, steps: Callable[[ColumnRef], Iterable[tuple[Edge, ColumnRef]]], seen: set[ColumnRef]
) -> Asked:
    found = list(steps(column))
    if column in seen:
        return Asked(column, edge, is_seen=bool(found))
    seen.add(column)
    return Asked(column, edge, tuple(_follow(next_column, next_edge, steps, seen) for next_edge, next_column in found))


def find_column(lineage: Lineage, text: str) -> ColumnRef:
    """The column that ``stream.column`` names; ``stream.*`` are its rows. A stream of several files may be named by what is outside."""
    name, _, column = text.rpartition(".")
    datasets = [dataset for dataset in lineage.columns if name.lower() in (dataset.name.lower(), str(dataset).lower())]
    if not datasets:
        known = ", ".join(str(dataset) for dataset in lineage.columns)
        raise UsageError("WR670", f"there is no stream, table or statement {name or text}", f"write stream.column; there are: {known}")
    asked = {edge.input for edge in lineage.edges} | {edge.output for edge in lineage.edges}
    for dataset in datasets:
        found = _column_of(dataset, column, lineage, asked)
        if found is not None:
            return found
    has = ", ".join(lineage.columns[datasets[0]])
    raise UsageError("WR670", f"{name} has no column {column}", f"{name} has: {has}; {name}.{ROWS} stands for its rows")


def _column_of(dataset: Dataset, column: str, lineage: Lineage, asked: set[ColumnRef]) -> ColumnRef | None:
    if column == ROWS:
        return ColumnRef(dataset, ROWS)
    known = next((name for name in lineage.columns[dataset] if name.lower() == column.lower()), None)
    found = ColumnRef(dataset, known or column.lower())
    return found if known is not None or found in asked else None
