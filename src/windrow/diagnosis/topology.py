"""A job as boxes and arrows with the numbers of its batches where there are some."""

from __future__ import annotations

from typing import Any

from windrow.diagnosis.analysis import Analysis
from windrow.graphs import Edge, Graph, Node
from windrow.observe.spelling import show_micros
from windrow.plan.explain_facts import facts_of
from windrow.plan.stages import Job, LoadTable, Read, Stage, Write


def topology_of(job: Job, analysis: Analysis | None = None) -> Graph:
    nodes = tuple(_node(stage, job, analysis) for stage in job.stages)
    edges = [Edge(name, stage.name, _rows(name, analysis)) for stage in job.stages for name in stage.inputs]
    return Graph(job.name, nodes, tuple(edges), f"job {job.name}")


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


def topology_json(topology: Graph) -> dict[str, Any]:
    nodes = [{"name": node.name, "lines": list(node.lines), "is_bottleneck": node.is_cause} for node in topology.nodes]
    return {"job": topology.name, "nodes": nodes, "edges": [vars(edge) for edge in topology.edges]}
