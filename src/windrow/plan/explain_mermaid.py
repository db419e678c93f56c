"""A plan as a Mermaid flowchart: one box a stage, one frame a job."""

from __future__ import annotations

from typing import assert_never

from windrow.plan.explain_facts import emissions, show_window
from windrow.plan.explain_joins import join_label
from windrow.plan.explain_stream_joins import stream_join_label
from windrow.plan.physical import NO_WISHES, RunWishes, expected_facts, physical_plan
from windrow.plan.stages import (
    Aggregate,
    Expect,
    Explode,
    FilterProject,
    InsertUnion,
    IntervalJoin,
    Job,
    LateRows,
    LoadTable,
    LookupJoin,
    OverAggregate,
    Plan,
    Read,
    Stage,
    SubqueryLookup,
    UnionAll,
    UpsertTable,
    WindowRows,
    Write,
)
from windrow.plan.stream_joins import AsofJoin, WindowJoin
from windrow.sql import render_expr
from windrow.sql.durations import show_duration

# What is written around a label: sources and sinks are cylinders, late rows a flag, all else a box.
_SHAPES: dict[type, tuple[str, str]] = {Read: ("[(", ")]"), LoadTable: ("[(", ")]"), Write: ("[(", ")]"), LateRows: (">", "]")}
_BREAK = "<br/>"
_LONGEST = 80


def plan_to_mermaid(plan: Plan, wishes: RunWishes = NO_WISHES) -> str:
    lines = ["flowchart TD"]
    for number, job in enumerate(plan.jobs, 1):
        lines += _job(job, number, wishes)
    return "\n".join(lines)


def _job(job: Job, number: int, wishes: RunWishes) -> list[str]:
    ids = {stage.name: f"j{number}s{i}" for i, stage in enumerate(job.stages, 1)}
    lines = [f'  subgraph j{number}["{_escape(f"job {job.name}")}"]']
    for operator in physical_plan(job, expected_facts(job, wishes)):
        stage, ways = operator.stage, ", ".join(str(one.strategy) for one in operator.distinct)
        opening, closing = _SHAPES.get(type(stage), ("[", "]"))
        lines.append(f'    {ids[stage.name]}{opening}"{_BREAK.join(_escape(line) for line in (*_label(stage), ways))}"{closing}')
    for stage in job.stages:
        arrow = "-. too late .->" if isinstance(stage, LateRows) else "-->"
        lines += [f"    {ids[name]} {arrow} {ids[stage.name]}" for name in stage.inputs if name in ids]
    return [*lines, "  end"]


def _label(stage: Stage) -> list[str]:
    match stage:
        case Read(name=name, connector=connector, clock=clock):
            return [name, f"from {connector}", f"watermark delay {show_duration(clock.delay)}"]
        case FilterProject(name=name, where=where):
            return [name, *([f"where {render_expr(where)}"] if where is not None else []), "row by row"]
        case Aggregate():
            return _aggregate(stage)
        case WindowRows(name=name):
            return [name, "rows with their windows"]
        case OverAggregate(name=name, over_calls=over_calls):
            return [name, *(render_expr(over) for group in over_calls for _, over in group.calls)]
        case LoadTable() | Explode() | SubqueryLookup() | LookupJoin():
            return join_label(stage)
        case IntervalJoin() | AsofJoin() | WindowJoin():
            return stream_join_label(stage)
        case LateRows(name=name):
            return [name]
        case UnionAll(name=name) | InsertUnion(name=name):
            return [name, "all rows of its inputs"]
        case Expect(name=name, constraints=constraints):
            return [name, *(f"expects {render_expr(each.condition)}" for each in constraints)]
        case UpsertTable(name=name, key=key):
            return [name, f"the latest row per {', '.join(key)}" if key else "the latest row"]
        case Write(input=name, connector=connector):
            return [name, f"to {connector}"]
        case _:
            assert_never(stage)


def _aggregate(stage: Aggregate) -> list[str]:
    lines = [stage.name]
    if stage.where is not None:
        lines.append(f"where {render_expr(stage.where)}")
    if stage.keys:
        lines.append("by " + ", ".join(render_expr(key) for _, key in stage.keys))
    if stage.window is not None:
        lines.append(show_window(stage.window).partition(",")[0])
    return [*lines, *(f"emits {occasion}" for occasion in emissions(stage))]


def _escape(text: str) -> str:
    """A label's text with what Mermaid would read as syntax spelled as entities.

    >>> _escape('a < "b"')
    'a #lt; #quot;b#quot;'
    """
    short = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    for char, name in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;"), ("`", "#96;"), ("\n", " ")):
        short = short.replace(char, name)
    return short
