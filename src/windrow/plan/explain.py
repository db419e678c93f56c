"""EXPLAIN: a plan as a tree for people, as JSON for programs, as a Mermaid flowchart for pages.

It reads the stages and the operators that are executed: those of a run with the settings that are given, or with none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from windrow.plan.explain_facts import facts_of
from windrow.plan.explain_json import plan_to_json
from windrow.plan.explain_mermaid import plan_to_mermaid
from windrow.plan.explain_metrics import show_alert, show_metric
from windrow.plan.physical import NO_WISHES, PhysicalPlan, RunWishes, expected_facts, physical_plan
from windrow.plan.row_limits import limit_lines
from windrow.plan.stages import Job, Plan, Stage

Format = Literal["text", "json", "mermaid"]


def explain(plan: Plan, form: Format = "text", wishes: RunWishes = NO_WISHES) -> str:
    """The plan in one of its shapes, without a newline at the end."""
    match form:
        case "text":
            return plan_to_text(plan, wishes)
        case "json":
            return json.dumps(plan_to_json(plan, wishes), indent=2, ensure_ascii=False)
        case "mermaid":
            return plan_to_mermaid(plan, wishes)
        case _:
            assert_never(form)


def plan_to_text(plan: Plan, wishes: RunWishes = NO_WISHES) -> str:
    """Rows flow from the root of each tree to its leaves; what a stage does is listed under it."""
    notes = [f"-- @{key}: {value}".rstrip() for key, value in plan.annotations if not key.lower().startswith(("metric", "alert"))]
    notes += [f"metric {show_metric(metric)} ({name})" for name, metric in plan.metrics]
    notes += [f"alert {show_alert(alert)}" for alert in plan.alerts]
    jobs = ["\n".join(_job_lines(job, wishes)) for job in plan.jobs]
    if not jobs:
        jobs = ["no job: the file only defines sources"]
    return "\n\n".join(["\n".join(notes), *jobs] if notes else jobs)


def _job_lines(job: Job, wishes: RunWishes) -> list[str]:
    lines = [f"job {job.name}", f"   why: {job.reason}"]
    if job.needs_ticks and not wishes.is_bounded:
        lines.append("   also runs without new rows, because time must go on")
    lines += [f"   {line}" for line in limit_lines(job)]
    return [*lines, *job_tree(job, wishes=wishes)]


def job_tree(
    job: Job, notes: Mapping[str, Sequence[tuple[str, str]]] | None = None, *, has_facts: bool = True, wishes: RunWishes = NO_WISHES
) -> list[str]:
    """The stages of a job, each below the one that it reads. ``notes`` are more labelled lines for a stage, before its facts."""
    roots = [stage for stage in job.stages if not stage.inputs]
    tree = _Tree(physical_plan(job, expected_facts(job, wishes)), notes or {}, has_facts)
    return [line for i, root in enumerate(roots) for line in _tree(root, tree, "", is_last=i == len(roots) - 1)]


@dataclass(frozen=True)
class _Tree:
    plan: PhysicalPlan
    notes: Mapping[str, Sequence[tuple[str, str]]]
    has_facts: bool

    def told(self, stage: Stage) -> list[tuple[str, str]]:
        facts = facts_of(stage, self.plan.job).lines if self.has_facts else ()
        choices = self.plan.of(stage.name).distinct if self.has_facts else ()
        return [*self.notes.get(stage.name, ()), *facts, *(("strategy", str(choice)) for choice in choices)]


def _tree(stage: Stage, tree: _Tree, indent: str, *, is_last: bool) -> list[str]:
    facts = facts_of(stage, tree.plan.job)
    below = _below(stage, tree.plan.job)
    inner = indent + ("   " if is_last else "│  ")
    margin = inner + ("│  " if below else "   ")
    told = tree.told(stage)
    width = max((len(label) for label, _ in told), default=0)
    lines = [f"{indent}{'└─' if is_last else '├─'} {facts.kind} {facts.title}"]
    lines += [f"{margin}{label.ljust(width)}  {text}" for label, text in told]
    for i, child in enumerate(below):
        lines += _tree(child, tree, inner, is_last=i == len(below) - 1)
    return lines


def _below(stage: Stage, job: Job) -> list[Stage]:
    """The stages that read this one. A stage with several inputs is drawn once, below the last of them."""
    order = [each.name for each in job.stages]
    return [each for each in job.stages if each.inputs and max(each.inputs, key=order.index) == stage.name]
