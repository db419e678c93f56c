"""Lineage for people and for programs: as text and as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from windrow.lineage.graph import ROWS, ColumnRef, Dataset, Edge, EdgeKind, Lineage
from windrow.lineage.paths import Asked

_INDENT = "   "


def restricted(lineage: Lineage, asked: Asked) -> Lineage:
    """Only what lies on the way to or from a column."""
    on_the_way = set(asked.columns())
    is_up = any(below.edge is not None and below.edge.input == below.column for below in asked.behind)
    reached = on_the_way | ({asked.column.rows} if is_up else set())
    edges = tuple(edge for edge in lineage.edges if edge.output in reached and edge.input in reached)
    touched = on_the_way | {end for edge in edges for end in (edge.output, edge.input)}
    columns = {
        dataset: tuple(name for name in names if ColumnRef(dataset, name) in touched)
        for dataset, names in lineage.columns.items()
        if any(column.dataset == dataset for column in touched)
    }
    kept = set(columns)
    reads = tuple(pair for pair in lineage.reads if kept.issuperset(pair))
    return Lineage(columns, edges, reads, tuple(pair for pair in lineage.writes if kept.issuperset(pair)), lineage.types)


def lineage_to_text(lineage: Lineage) -> str:
    """Every dataset of the files with its columns, and what each is made of."""
    by_output: dict[ColumnRef, list[Edge]] = {}
    for edge in lineage.edges:
        by_output.setdefault(edge.output, []).append(edge)
    lines: list[str] = []
    for dataset, columns in lineage.columns.items():
        if not dataset.is_outside:
            lines += [*([""] if lines else []), *_dataset(dataset, columns, lineage, by_output)]
    return "\n".join(lines)


def _dataset(dataset: Dataset, columns: tuple[str, ...], lineage: Lineage, by_output: dict[ColumnRef, list[Edge]]) -> Iterator[str]:
    reads = [str(place) for own, place in lineage.reads if own == dataset]
    writes = [str(place) for own, place in lineage.writes if own == dataset]
    title = f"{dataset.namespace}: {dataset.name}" if dataset.namespace else dataset.name
    yield title + (f", read from {', '.join(reads)}" if reads else "") + (f", written to {', '.join(writes)}" if writes else "")
    shown = [(name, [e for e in by_output.get(ColumnRef(dataset, name), ()) if not e.input.dataset.is_outside]) for name in columns]
    width = max((len(name) for name, _ in shown), default=0)
    if not any(edges for _, edges in shown):
        yield _INDENT + ", ".join(columns)
    else:
        for name, edges in shown:
            yield f"{_INDENT}{name.ljust(width)}  <- {_sources(edges)}{_written(edges)}"
    rows = [edge for edge in by_output.get(ColumnRef(dataset, ROWS), ()) if not edge.input.dataset.is_outside]
    if rows:
        yield f"{_INDENT}which rows: {_sources(rows)}"


def _sources(edges: Iterable[Edge]) -> str:
    """Columns that hand on their values come first."""
    listed = sorted(edges, key=lambda edge: not edge.kind.is_direct)
    return ", ".join(f"{edge.input} ({_kind(edge.kind)})" if edge.kind is not EdgeKind.ROWS else f"{edge.input}" for edge in listed) or (
        "no column"
    )


def _kind(kind: EdgeKind) -> str:
    return kind.value.replace("_", " ")


def _written(edges: list[Edge]) -> str:
    text = edges[0].expr if edges else ""
    return f"   {text}" if text else ""


def asked_to_text(asked: Asked, *, is_up: bool) -> str:
    """A column with what lies behind it, as a tree."""
    lines = [str(asked.column)]
    lines += _branches(asked, "", "<-" if is_up else "->")
    if len(lines) == 1:
        lines.append("└─ read from outside: nothing stands before it" if is_up else "└─ nothing follows from it")
    return "\n".join(lines)


def _branches(asked: Asked, before: str, arrow: str) -> Iterator[str]:
    for i, below in enumerate(asked.behind):
        is_last = i == len(asked.behind) - 1
        assert below.edge is not None
        text = f": {below.edge.expr}" if below.edge.expr else ""
        seen = " (shown above)" if below.is_seen else ""
        yield f"{before}{'└─' if is_last else '├─'} {arrow} {below.column}  [{_kind(below.edge.kind)}{text}]{seen}"
        yield from _branches(below, before + ("   " if is_last else "│  "), arrow)


def lineage_to_json(lineage: Lineage) -> dict[str, Any]:
    types = lineage.types or {}
    return {
        "datasets": [
            {
                **_name(dataset),
                "is_outside": dataset.is_outside,
                "columns": [{"name": name, "type": types.get(ColumnRef(dataset, name))} for name in columns],
            }
            for dataset, columns in lineage.columns.items()
        ],
        "edges": [
            {
                "output": {**_name(edge.output.dataset), "column": edge.output.column},
                "input": {**_name(edge.input.dataset), "column": edge.input.column},
                "type": "DIRECT" if edge.kind.is_direct else "INDIRECT",
                "subtype": edge.kind.value.upper(),
                "expr": edge.expr or None,
            }
            for edge in lineage.edges
        ],
        "reads": [{"stream": _name(own), "from": _name(place)} for own, place in lineage.reads],
        "writes": [{"statement": _name(own), "to": _name(place)} for own, place in lineage.writes],
    }


def _name(dataset: Dataset) -> dict[str, str]:
    return {"namespace": dataset.namespace, "name": dataset.name}
