"""Boxes and arrows for a terminal, Mermaid, Graphviz and SVG.

One layout serves the terminal and SVG: nodes stand in layers, each below all that it reads, and an edge that passes a layer has a place
in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from windrow.graphs.canvas import Canvas
from windrow.graphs.formats import Drawing, to_dot, to_mermaid, to_svg

_GAP = 3


@dataclass(frozen=True)
class Node:
    """``lines`` are what its box says; ``is_cause`` marks the one that takes most of the time."""

    name: str
    lines: tuple[str, ...]
    shape: str = "box"
    is_cause: bool = False


@dataclass(frozen=True)
class Edge:
    source: str
    target: str
    rows: int | None = None


@dataclass(frozen=True)
class Graph:
    """Nodes stand in an order in which edges lead forward. ``title`` is what stands above the drawing in a terminal."""

    name: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    title: str = ""


def draw(graph: Graph, form: str) -> str:
    """``text``, ``mermaid``, ``dot`` or ``svg``, without a newline at the end."""
    match form:
        case "text":
            return f"{graph.title}\n{_text(graph)}"
        case "mermaid":
            return to_mermaid(_drawing(graph))
        case "dot":
            return to_dot(_drawing(graph))
        case "svg":
            return to_svg(_drawing(graph))
        case _:
            raise ValueError(form)


@dataclass
class Place:
    """Where a node stands: its layer, its left edge and its width, in characters. A node without lines is an edge that passes."""

    name: str
    layer: int
    lines: tuple[str, ...] = ()
    shape: str = "box"
    is_cause: bool = False
    left: int = 0

    @property
    def width(self) -> int:
        return max((len(line) for line in self.lines), default=-3) + 4

    @property
    def centre(self) -> int:
        return self.left + self.width // 2

    @property
    def height(self) -> int:
        return len(self.lines) + 2


@dataclass
class Layout:
    """``links`` lead from a place to one in the next layer, each with its rows where it ends at a box."""

    layers: list[list[Place]]
    links: list[tuple[Place, Place, int | None]] = field(default_factory=list)


def layout_of(graph: Graph) -> Layout:
    layers = _layers(graph)
    places = {node.name: Place(node.name, layers[node.name], node.lines, node.shape, node.is_cause) for node in graph.nodes}
    rows: list[list[Place]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for place in places.values():
        rows[place.layer].append(place)
    found = Layout(rows)
    for edge in graph.edges:
        above, below = places[edge.source], places[edge.target]
        for number in range(above.layer + 1, below.layer):
            passing = Place("", number)
            rows[number].append(passing)
            found.links.append((above, passing, None))
            above = passing
        found.links.append((above, below, edge.rows))
    for layer in rows:
        _place(layer, found.links)
    return found


def _layers(graph: Graph) -> dict[str, int]:
    """How far each node is from the sources, by the longest way. Stages stand in an order in which they run."""
    layers: dict[str, int] = {}
    for node in graph.nodes:
        above = [layers[edge.source] for edge in graph.edges if edge.target == node.name]
        layers[node.name] = max(above, default=-1) + 1
    for node in graph.nodes:
        # A source stands right above what reads it.
        below = [layers[edge.target] for edge in graph.edges if edge.source == node.name]
        if layers[node.name] == 0 and below:
            layers[node.name] = min(below) - 1
    return layers


def _place(layer: list[Place], links: Sequence[tuple[Place, Place, int | None]]) -> None:
    """Each below the middle of what it reads, as far as there is room, and in that order, so that few edges cross."""
    middles: dict[int, float] = {}
    for place in layer:
        above = [one.centre for one, other, _ in links if other is place]
        middles[id(place)] = sum(above) / len(above) if above else float(layer.index(place))
    layer.sort(key=lambda place: middles[id(place)])
    left = 0
    for place in layer:
        is_below = any(other is place for _, other, _ in links)
        place.left = max(left, round(middles[id(place)]) - place.width // 2) if is_below else left
        left = place.left + place.width + _GAP


def _text(graph: Graph) -> str:
    found = layout_of(graph)
    canvas = Canvas()
    top = 0
    for layer in found.layers:
        height = max((place.height for place in layer), default=0)
        for place in layer:
            if place.lines:
                canvas.box(place.left, top, place.lines, is_heavy=place.is_cause)
                canvas.down(place.centre, top + place.height, top + height)
            else:
                canvas.down(place.centre, top, top + height)
        top = _edges(found, layer, top + height, canvas)
    return canvas.text()


def _edges(found: Layout, layer: list[Place], top: int, canvas: Canvas) -> int:
    """The edges below a layer; gives the row at which the next one begins."""
    own = [link for link in found.links if any(link[0] is place for place in layer)]
    if not own:
        return top
    turns = [place for place in layer if any(above is place and above.centre != below.centre for above, below, _ in own)]
    bottom = top + len(turns) + 1
    for above, below, rows in own:
        track = top + turns.index(above) if above in turns else top
        canvas.down(above.centre, top - 1, track)
        canvas.across(above.centre, below.centre, track)
        canvas.down(below.centre, track, bottom)
        if below.lines:
            canvas.write(below.centre, bottom, "▼" + ("" if rows is None else f" {rows:,}"))
        else:
            canvas.down(below.centre, bottom, bottom)
    return bottom + 1


def _drawing(graph: Graph) -> Drawing:
    found = layout_of(graph)
    places: Mapping[str, Place] = {place.name: place for layer in found.layers for place in layer if place.name}
    return Drawing(graph, found, places)
