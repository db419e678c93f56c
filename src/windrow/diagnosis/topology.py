"""A job as boxes and arrows with the numbers of its batches where there are some: for a terminal, Mermaid, Graphviz and SVG.

One layout serves the terminal and SVG: stages stand in layers, each below all that it reads, and an edge that passes a layer has a place
in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from windrow.diagnosis.analysis import Analysis
from windrow.diagnosis.canvas import Canvas
from windrow.diagnosis.drawings import Drawing, to_dot, to_mermaid, to_svg
from windrow.observe.spelling import show_micros
from windrow.plan.explain_facts import facts_of
from windrow.plan.stages import Job, LoadTable, Read, Stage, Write

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
class Topology:
    name: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def to_json(self) -> dict[str, Any]:
        nodes = [{"name": node.name, "lines": list(node.lines), "is_bottleneck": node.is_cause} for node in self.nodes]
        return {"job": self.name, "nodes": nodes, "edges": [vars(edge) for edge in self.edges]}


def topology_of(job: Job, analysis: Analysis | None = None) -> Topology:
    nodes = tuple(_node(stage, job, analysis) for stage in job.stages)
    edges = [Edge(name, stage.name, _rows(name, analysis)) for stage in job.stages for name in stage.inputs]
    return Topology(job.name, nodes, tuple(edges))


def _rows(name: str, analysis: Analysis | None) -> int | None:
    return None if analysis is None else analysis.operators[name].rows_out


def _node(stage: Stage, job: Job, analysis: Analysis | None) -> Node:
    facts = facts_of(stage, job)
    lines = [f"{facts.kind} {facts.title}"]
    shape = "store" if isinstance(stage, Read | LoadTable | Write) else "box"
    if analysis is None:
        return Node(stage.name, tuple(lines), shape)
    own = analysis.operators[stage.name]
    if not isinstance(stage, LoadTable):
        lines.append(
            f"{_count(own.rows_in)} in, {_count(own.rows_out)} out" if not isinstance(stage, Write) else f"{_count(own.rows_in)} written"
        )
    aside = sum(own.dead.values()) + sum(own.dropped.values())
    if own.filtered or aside:
        lines.append(
            ", ".join(text for count, text in ((own.filtered, f"{own.filtered:,} filtered"), (aside, f"{aside:,} set aside")) if count)
        )
    lines.append(f"{own.share:.0%} of the time")
    if isinstance(stage, Read) and (mark := analysis.sources[stage.name].clock.after) is not None:
        lines.append(f"watermark {show_micros(mark)}")
    statement = analysis.statements.get(stage.name)
    if statement is not None and statement.last.open is not None:
        lines.append(f"{statement.last.open:,} open")
    slow = analysis.bottleneck
    return Node(stage.name, tuple(lines), shape, slow is not None and slow.name == stage.name)


def _count(rows: int | None) -> str:
    return "?" if rows is None else f"{rows:,}"


def draw(topology: Topology, form: str) -> str:
    """``text``, ``mermaid``, ``dot`` or ``svg``, without a newline at the end."""
    match form:
        case "text":
            return f"job {topology.name}\n{_text(topology)}"
        case "mermaid":
            return to_mermaid(_drawing(topology))
        case "dot":
            return to_dot(_drawing(topology))
        case "svg":
            return to_svg(_drawing(topology))
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


def layout_of(topology: Topology) -> Layout:
    layers = _layers(topology)
    places = {node.name: Place(node.name, layers[node.name], node.lines, node.shape, node.is_cause) for node in topology.nodes}
    rows: list[list[Place]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for place in places.values():
        rows[place.layer].append(place)
    found = Layout(rows)
    for edge in topology.edges:
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


def _layers(topology: Topology) -> dict[str, int]:
    """How far each node is from the sources, by the longest way. Stages stand in an order in which they run."""
    layers: dict[str, int] = {}
    for node in topology.nodes:
        above = [layers[edge.source] for edge in topology.edges if edge.target == node.name]
        layers[node.name] = max(above, default=-1) + 1
    for node in topology.nodes:
        # A source stands right above what reads it.
        below = [layers[edge.target] for edge in topology.edges if edge.source == node.name]
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


def _text(topology: Topology) -> str:
    found = layout_of(topology)
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


def _drawing(topology: Topology) -> Drawing:
    found = layout_of(topology)
    places: Mapping[str, Place] = {place.name: place for layer in found.layers for place in layer if place.name}
    return Drawing(topology, found, places)
