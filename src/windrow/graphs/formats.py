"""A layered graph for other programs: Mermaid, Graphviz and SVG."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from windrow.graphs.layered import Graph, Layout, Place

# Of a character, in the units of SVG.
_WIDE, _HIGH = 8, 18
_BETWEEN = 3


@dataclass(frozen=True)
class Drawing:
    """``places`` are where the nodes of a layout stand, by name."""

    graph: Graph
    layout: Layout
    places: Mapping[str, Place]


def to_mermaid(drawing: Drawing) -> str:
    ids = {node.name: f"s{i}" for i, node in enumerate(drawing.graph.nodes)}
    lines = ["flowchart TD"]
    for node in drawing.graph.nodes:
        label = "<br/>".join(escape(line).replace("|", "&#124;") for line in node.lines)
        before, after = ("[(", ")]") if node.shape == "store" else ("[", "]")
        lines.append(f'  {ids[node.name]}{before}"{label}"{after}')
        if node.is_cause:
            lines.append(f"  style {ids[node.name]} stroke-width:4px")
    for edge in drawing.graph.edges:
        rows = "" if edge.rows is None else f'|"{edge.rows:,}"|'
        lines.append(f"  {ids[edge.source]} -->{rows} {ids[edge.target]}")
    return "\n".join(lines)


def to_dot(drawing: Drawing) -> str:
    lines = [f"digraph {json.dumps(drawing.graph.name)} {{", "  node [shape=box, fontname=monospace];"]
    for node in drawing.graph.nodes:
        shape = ", shape=cylinder" if node.shape == "store" else ""
        label = "\\n".join(json.dumps(line, ensure_ascii=False)[1:-1] for line in node.lines)
        lines.append(f'  {json.dumps(node.name, ensure_ascii=False)} [label="{label}"{shape}{", penwidth=3" if node.is_cause else ""}];')
    for edge in drawing.graph.edges:
        rows = "" if edge.rows is None else f' [label="{edge.rows:,}"]'
        lines.append(f"  {json.dumps(edge.source, ensure_ascii=False)} -> {json.dumps(edge.target, ensure_ascii=False)}{rows};")
    return "\n".join([*lines, "}"])


def to_svg(drawing: Drawing) -> str:
    tops: dict[int, int] = {}
    top = 1
    for number, layer in enumerate(drawing.layout.layers):
        tops[number] = top
        top += max((place.height for place in layer), default=0) + _BETWEEN
    width = max((place.left + place.width for layer in drawing.layout.layers for place in layer), default=0) + 2
    parts = [part for place in drawing.places.values() for part in _box(place, tops[place.layer])]
    for above, below, rows in drawing.layout.links:
        parts += _arrow(above, below, rows, tops)
    size = f'width="{width * _WIDE}" height="{(top + 1) * _HIGH}"'
    marker = '<marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    head = f'{marker}<path d="M0,0L8,4L0,8z"/></marker>'
    title = f"<title>{escape(drawing.graph.name)}</title>"
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace" font-size="13">'
    return "\n".join([opening, title, f"<defs>{head}</defs>", *parts, "</svg>"])


def _box(place: Place, top: int) -> list[str]:
    left, line = (place.left + 1) * _WIDE, 3 if place.is_cause else 1
    frame = f'<rect x="{left}" y="{top * _HIGH}" width="{place.width * _WIDE}" height="{(len(place.lines) + 1) * _HIGH}" rx="4"'
    parts = [f'{frame} fill="white" stroke="black" stroke-width="{line}"/>']
    for row, text in enumerate(place.lines, 1):
        parts.append(f'<text x="{left + 2 * _WIDE}" y="{(top + row) * _HIGH + 4}">{escape(text)}</text>')
    return parts


def _arrow(above: Place, below: Place, rows: int | None, tops: Mapping[int, int]) -> list[str]:
    start = (tops[above.layer] + (len(above.lines) + 1 if above.lines else 0)) * _HIGH
    end = tops[below.layer] * _HIGH
    x, to = (above.centre + 1) * _WIDE, (below.centre + 1) * _WIDE
    head = ' marker-end="url(#end)"' if below.lines else ""
    parts = [f'<path d="M{x},{start}C{x},{end - _HIGH} {to},{start + _HIGH} {to},{end}" fill="none" stroke="black"{head}/>']
    if rows is not None:
        parts.append(f'<text x="{to + _WIDE}" y="{end - _HIGH // 3}">{rows:,}</text>')
    return parts
