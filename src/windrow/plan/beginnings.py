"""Aggregates that a statement got while its windows were open: they say nothing of windows that had begun without them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from windrow.model.expr import Binary, Call, Case, Column, Literal, Node, Slot, transform
from windrow.plan.stages import Aggregate, Job
from windrow.sql import render_expr

# From a stage to its new aggregates by their call, and from there to the start of the first window that each has seen whole.
Beginnings = Mapping[str, Mapping[str, int]]


def with_beginnings(job: Job, beginnings: Beginnings) -> Job:
    """The job with NULL in place of an aggregate wherever a window starts before it has seen all of its rows."""
    return replace(
        job, stages=tuple(_since(s, beginnings[s.name]) if isinstance(s, Aggregate) and s.name in beginnings else s for s in job.stages)
    )


def _since(stage: Aggregate, begins: Mapping[str, int]) -> Aggregate:
    slots = {item.slot: begins[call] for item in stage.aggregates if (call := render_expr(item.call)) in begins}

    def change(node: Node) -> Node | None:
        if not isinstance(node, Slot) or node.name not in slots:
            return None
        at = Call("TIMESTAMP_MICROS", (Literal(slots[node.name]),))
        return Case(None, ((Binary(">=", Column("_window_start"), at), node),))

    return replace(stage, output=stage.output.changed(lambda expr: transform(expr, change)))


def still_wanted(job: Job, beginnings: Beginnings) -> dict[str, dict[str, int]]:
    """Without aggregates that a statement no longer has."""
    calls = {stage.name: {render_expr(item.call) for item in stage.aggregates} for stage in job.stages if isinstance(stage, Aggregate)}
    kept = {name: {call: at for call, at in begins.items() if call in calls.get(name, ())} for name, begins in beginnings.items()}
    return {name: begins for name, begins in kept.items() if begins}
