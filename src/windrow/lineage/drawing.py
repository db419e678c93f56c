"""Lineage as a picture: a box for each dataset, a field for each of its columns."""

from __future__ import annotations

from windrow.graphs import Box, FieldGraph, Link, draw_fields
from windrow.lineage.graph import ROWS, ColumnRef, Dataset, Edge, Lineage

_ROWS_TEXT = "(which rows)"


def draw_lineage(lineage: Lineage, form: str) -> str:
    """``dot``, ``mermaid`` or ``svg``."""
    names = _box_names(lineage)
    boxes = tuple(Box(names[dataset], tuple(map(_text, columns)), dataset.is_outside) for dataset, columns in _fields(lineage).items())
    links = tuple(_link(edge, names) for edge in lineage.edges)
    return draw_fields(FieldGraph("lineage of columns", boxes, links), form)


def _fields(lineage: Lineage) -> dict[Dataset, tuple[str, ...]]:
    """The columns to draw: those that are shown, and what edges speak of beside them."""
    drawn = {dataset: dict.fromkeys(columns) for dataset, columns in lineage.columns.items()}
    for edge in lineage.edges:
        for end in (edge.output, edge.input):
            drawn.setdefault(end.dataset, {})[end.column] = None
    return {dataset: tuple(columns) for dataset, columns in drawn.items()}


def _box_names(lineage: Lineage) -> dict[Dataset, str]:
    """Statements of one name in several files are told apart by their file."""
    shown: dict[str, list[Dataset]] = {}
    for dataset in _fields(lineage):
        shown.setdefault(str(dataset), []).append(dataset)
    return {
        dataset: name if len(same) == 1 or dataset.is_outside else f"{dataset.namespace}: {name}"
        for name, same in shown.items()
        for dataset in same
    }


def _text(column: str) -> str:
    return _ROWS_TEXT if column == ROWS else column


def _link(edge: Edge, names: dict[Dataset, str]) -> Link:
    kind = edge.kind.value.replace("_", " ")
    said = f"{edge.output} from {edge.input}: {f'{kind} {edge.expr}'.strip()}"
    return Link(_end(edge.input, names), _end(edge.output, names), edge.kind.is_direct, kind, said)


def _end(column: ColumnRef, names: dict[Dataset, str]) -> tuple[str, str]:
    return names[column.dataset], _text(column.column)
