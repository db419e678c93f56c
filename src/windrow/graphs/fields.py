"""Boxes with a line for each of their fields, and links between fields: Graphviz's language, a Mermaid flowchart, or SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from xml.sax.saxutils import escape

_ROW, _CHAR, _PAD, _GAP_X, _GAP_Y = 20, 7, 12, 110, 24


@dataclass(frozen=True)
class Box:
    """``fields`` are shown in their order. ``is_outside`` boxes have another colour."""

    name: str
    fields: tuple[str, ...] = ()
    is_outside: bool = False


@dataclass(frozen=True)
class Link:
    """From a field of one box to one of another, each named by box and field; an empty field is the head of the box.

    ``label`` stands at the link where there is room, ``text`` shows when a pointer rests on it. Dashed ones are not ``is_solid``.
    """

    start: tuple[str, str]
    end: tuple[str, str]
    is_solid: bool = True
    label: str = ""
    text: str = ""


@dataclass(frozen=True)
class FieldGraph:
    title: str
    boxes: tuple[Box, ...]
    links: tuple[Link, ...]


def draw_fields(graph: FieldGraph, form: str) -> str:
    """``dot``, ``mermaid`` or ``svg``, without a newline at the end."""
    match form:
        case "dot":
            return _to_dot(graph)
        case "mermaid":
            return _to_mermaid(graph)
        case "svg":
            return _to_svg(graph)
        case _:
            raise ValueError(form)


def _to_dot(graph: FieldGraph) -> str:
    ports = {(box.name, ""): f"d{i}" for i, box in enumerate(graph.boxes)}
    ports |= {(box.name, name): f"d{i}:c{j}" for i, box in enumerate(graph.boxes) for j, name in enumerate(box.fields)}
    lines = [f"digraph {graph.title.split()[0]} {{", "  rankdir=LR;", '  node [shape=plaintext fontname="sans-serif"];']
    for i, box in enumerate(graph.boxes):
        colour = "#dde6f0" if box.is_outside else "#f4f4f4"
        rows = "".join(f'<tr><td port="c{j}" align="left">{escape(name)}</td></tr>' for j, name in enumerate(box.fields))
        head = f'<tr><td bgcolor="{colour}"><b>{escape(box.name)}</b></td></tr>'
        lines.append(f'  d{i} [label=<<table border="0" cellborder="1" cellspacing="0">{head}{rows}</table>>];')
    for link in graph.links:
        style = "solid" if link.is_solid else "dashed"
        lines.append(f'  {ports[link.start]} -> {ports[link.end]} [style={style} tooltip="{_quoted(link.label)}"];')
    return "\n".join([*lines, "}"])


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _to_mermaid(graph: FieldGraph) -> str:
    lines, ids = ["flowchart LR"], {}
    for i, box in enumerate(graph.boxes):
        ids[box.name, ""] = f"d{i}"
        if not box.fields:
            lines.append(f'  d{i}[("{_entities(box.name)}")]')
            continue
        lines.append(f'  subgraph d{i}["{_entities(box.name)}"]')
        for j, name in enumerate(box.fields):
            ids[box.name, name] = f"d{i}c{j}"
            lines.append(f'    d{i}c{j}["{_entities(name)}"]')
        lines.append("  end")
    for link in graph.links:
        arrow = "-->" if link.is_solid else f"-. {_entities(link.label)} .->" if link.label else "-.->"
        lines.append(f"  {ids[link.start]} {arrow} {ids[link.end]}")
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
class _Place:
    box: Box
    x: int
    y: int
    width: int

    @property
    def height(self) -> int:
        return (len(self.box.fields) + 1) * _ROW + _PAD // 2

    def middle(self, name: str) -> int:
        row = self.box.fields.index(name) + 1 if name else 0
        return self.y + row * _ROW + _ROW // 2


def _to_svg(graph: FieldGraph) -> str:
    """Boxes from left to right in the order of their links."""
    places = _placed(graph)
    width = max((place.x + place.width for place in places.values()), default=0) + _PAD
    height = max((place.y + place.height for place in places.values()), default=0) + _PAD
    style = (
        "text{font:12px sans-serif;fill:#222}.head{font-weight:bold}rect{fill:#fff;stroke:#888}.outside{fill:#dde6f0}"
        "path{fill:none;stroke:#356;stroke-width:1.2}.indirect{stroke:#a64;stroke-dasharray:4 3}"
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(graph.title)}</title>",
        f"<style>{style}</style>",
    ]
    for link in graph.links:
        start, end = places[link.start[0]], places[link.end[0]]
        x1, y1, x2, y2 = start.x + start.width, start.middle(link.start[1]), end.x, end.middle(link.end[1])
        kind = "" if link.is_solid else ' class="indirect"'
        bend = max(40, abs(x2 - x1) // 2)
        lines.append(f'<path{kind} d="M{x1},{y1} C{x1 + bend},{y1} {x2 - bend},{y2} {x2},{y2}"><title>{escape(link.text)}</title></path>')
    for place in places.values():
        lines += _box_lines(place)
    return "\n".join([*lines, "</svg>"])


def _box_lines(place: _Place) -> Iterator[str]:
    outside = ' class="outside"' if place.box.is_outside else ""
    yield f'<rect{outside} x="{place.x}" y="{place.y}" width="{place.width}" height="{place.height}" rx="3"/>'
    yield f'<text class="head" x="{place.x + _PAD // 2}" y="{place.y + 15}">{escape(place.box.name)}</text>'
    for name in place.box.fields:
        yield f'<text x="{place.x + _PAD // 2}" y="{place.middle(name) + 4}">{escape(name)}</text>'


def _placed(graph: FieldGraph) -> dict[str, _Place]:
    layers: dict[int, list[Box]] = {}
    ranks = _ranks(graph)
    for box in graph.boxes:
        layers.setdefault(ranks[box.name], []).append(box)
    places: dict[str, _Place] = {}
    x = _PAD
    for _, boxes in sorted(layers.items()):
        width = max(len(text) for box in boxes for text in (box.name, *box.fields)) * _CHAR + _PAD
        y = _PAD
        for box in boxes:
            places[box.name] = _Place(box, x, y, width)
            y += places[box.name].height + _GAP_Y
        x += width + _GAP_X
    return places


def _ranks(graph: FieldGraph) -> Mapping[str, int]:
    """How far from a source each box stands; a circle is cut where it closes."""
    before: dict[str, dict[str, None]] = {box.name: {} for box in graph.boxes}
    for link in graph.links:
        if link.start[0] != link.end[0]:
            before[link.end[0]][link.start[0]] = None
    ranks: dict[str, int] = {}
    under_way: set[str] = set()

    def rank(name: str) -> int:
        if name not in ranks:
            under_way.add(name)
            ranks[name] = max((rank(each) for each in before[name] if each not in under_way), default=-1) + 1
            under_way.discard(name)
        return ranks[name]

    for box in graph.boxes:
        rank(box.name)
    return ranks
