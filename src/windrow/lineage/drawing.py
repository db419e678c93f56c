"""Lineage as a picture: Graphviz's language, a Mermaid flowchart, or SVG without any other program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from xml.sax.saxutils import escape

from windrow.lineage.graph import ROWS, ColumnRef, Dataset, EdgeKind, Lineage

_ROWS_TEXT = "(which rows)"
_ROW, _CHAR, _PAD, _GAP_X, _GAP_Y = 20, 7, 12, 110, 24


def _names(lineage: Lineage) -> dict[Dataset, tuple[str, ...]]:
    """The columns to draw: those that are shown, and what edges speak of beside them."""
    drawn = {dataset: dict.fromkeys(columns) for dataset, columns in lineage.columns.items()}
    for edge in lineage.edges:
        for end in (edge.output, edge.input):
            drawn.setdefault(end.dataset, {})[end.column] = None
    return {dataset: tuple(columns) for dataset, columns in drawn.items()}


def _text(column: str) -> str:
    return _ROWS_TEXT if column == ROWS else column


def lineage_to_dot(lineage: Lineage) -> str:
    names = _names(lineage)
    ids = {dataset: f"d{i}" for i, dataset in enumerate(names)}
    ports = {ColumnRef(dataset, column): f"{ids[dataset]}:c{i}" for dataset, columns in names.items() for i, column in enumerate(columns)}
    lines = ["digraph lineage {", "  rankdir=LR;", '  node [shape=plaintext fontname="sans-serif"];']
    for dataset, columns in names.items():
        colour = "#dde6f0" if dataset.is_outside else "#f4f4f4"
        rows = "".join(f'<tr><td port="c{i}" align="left">{escape(_text(column))}</td></tr>' for i, column in enumerate(columns))
        head = f'<tr><td bgcolor="{colour}"><b>{escape(str(dataset))}</b></td></tr>'
        lines.append(f'  {ids[dataset]} [label=<<table border="0" cellborder="1" cellspacing="0">{head}{rows}</table>>];')
    for edge in lineage.edges:
        style = "solid" if edge.kind.is_direct else "dashed"
        lines.append(f'  {ports[edge.input]} -> {ports[edge.output]} [style={style} tooltip="{edge.kind.value}"];')
    return "\n".join([*lines, "}"])


def lineage_to_mermaid(lineage: Lineage) -> str:
    names = _names(lineage)
    lines, ids = ["flowchart LR"], {}
    for i, (dataset, columns) in enumerate(names.items()):
        lines.append(f'  subgraph d{i}["{_entities(str(dataset))}"]')
        for j, column in enumerate(columns):
            ids[ColumnRef(dataset, column)] = f"d{i}c{j}"
            lines.append(f'    d{i}c{j}["{_entities(_text(column))}"]')
        lines.append("  end")
    for edge in lineage.edges:
        arrow = "-->" if edge.kind.is_direct else f"-. {edge.kind.value.replace('_', ' ')} .->"
        lines.append(f"  {ids[edge.input]} {arrow} {ids[edge.output]}")
    return "\n".join(lines)


def _entities(text: str) -> str:
    """
    >>> _entities('a "b"')
    'a #quot;b#quot;'
    """
    for char, name in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(char, name)
    return text


@dataclass(frozen=True)
class _Box:
    dataset: Dataset
    columns: tuple[str, ...]
    x: int
    y: int
    width: int

    @property
    def height(self) -> int:
        return (len(self.columns) + 1) * _ROW + _PAD // 2

    def middle(self, column: str) -> int:
        return self.y + (self.columns.index(column) + 1) * _ROW + _ROW // 2


def lineage_to_svg(lineage: Lineage) -> str:
    """Datasets from left to right in the order rows flow, one box each."""
    boxes = _placed(lineage)
    width = max((box.x + box.width for box in boxes.values()), default=0) + _PAD
    height = max((box.y + box.height for box in boxes.values()), default=0) + _PAD
    style = (
        "text{font:12px sans-serif;fill:#222}.head{font-weight:bold}rect{fill:#fff;stroke:#888}.outside{fill:#dde6f0}"
        "path{fill:none;stroke:#356;stroke-width:1.2}.indirect{stroke:#a64;stroke-dasharray:4 3}"
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        "<title>lineage of columns</title>",
        f"<style>{style}</style>",
    ]
    for edge in lineage.edges:
        start, end = boxes[edge.input.dataset], boxes[edge.output.dataset]
        x1, y1, x2, y2 = start.x + start.width, start.middle(edge.input.column), end.x, end.middle(edge.output.column)
        kind = "" if edge.kind.is_direct else ' class="indirect"'
        said = escape(f"{edge.output} from {edge.input}: {_said(edge.kind, edge.expr)}")
        bend = max(40, abs(x2 - x1) // 2)
        lines.append(f'<path{kind} d="M{x1},{y1} C{x1 + bend},{y1} {x2 - bend},{y2} {x2},{y2}"><title>{said}</title></path>')
    for box in boxes.values():
        lines += _box_lines(box)
    return "\n".join([*lines, "</svg>"])


def _said(kind: EdgeKind, expr: str) -> str:
    return f"{kind.value.replace('_', ' ')} {expr}".strip()


def _box_lines(box: _Box) -> Iterator[str]:
    outside = ' class="outside"' if box.dataset.is_outside else ""
    yield f'<rect{outside} x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}" rx="3"/>'
    yield f'<text class="head" x="{box.x + _PAD // 2}" y="{box.y + 15}">{escape(str(box.dataset))}</text>'
    for column in box.columns:
        yield f'<text x="{box.x + _PAD // 2}" y="{box.middle(column) + 4}">{escape(_text(column))}</text>'


def _placed(lineage: Lineage) -> dict[Dataset, _Box]:
    names = _names(lineage)
    layers: dict[int, list[Dataset]] = {}
    ranks = _ranks(lineage, names)
    for dataset in names:
        layers.setdefault(ranks[dataset], []).append(dataset)
    boxes: dict[Dataset, _Box] = {}
    x = _PAD
    for _, datasets in sorted(layers.items()):
        width = max(len(text) for dataset in datasets for text in (str(dataset), *map(_text, names[dataset]))) * _CHAR + _PAD
        y = _PAD
        for dataset in datasets:
            boxes[dataset] = _Box(dataset, names[dataset], x, y, width)
            y += boxes[dataset].height + _GAP_Y
        x += width + _GAP_X
    return boxes


def _ranks(lineage: Lineage, names: dict[Dataset, tuple[str, ...]]) -> dict[Dataset, int]:
    """How far from a source each dataset stands; a circle through a topic is cut where it closes."""
    before: dict[Dataset, set[Dataset]] = {dataset: set() for dataset in names}
    for edge in lineage.edges:
        if edge.input.dataset != edge.output.dataset:
            before[edge.output.dataset].add(edge.input.dataset)
    ranks: dict[Dataset, int] = {}

    def rank(dataset: Dataset, above: frozenset[Dataset]) -> int:
        if dataset not in ranks:
            found = [rank(each, above | {dataset}) for each in sorted(before[dataset]) if each not in above]
            if above:
                return max(found, default=-1) + 1
            ranks[dataset] = max(found, default=-1) + 1
        return ranks[dataset]

    for dataset in names:
        rank(dataset, frozenset())
    return ranks
