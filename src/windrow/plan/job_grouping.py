"""Which stages run as one job: those that rows connect."""

from __future__ import annotations

from windrow.plan.rewrites import rewrite_job
from windrow.plan.stages import Aggregate, Job, LateRows, LoadTable, LookupJoin, Read, Stage, Write
from windrow.plan.time_rules import TimeSpec


def group_jobs(stages: dict[str, Stage]) -> list[Job]:
    """Connected stages form one job, in the order rows flow; independent ones keep the order of the file.

    A table connects nothing: each job that reads it loads it for itself.
    """
    flow = _in_flow_order(stages)
    ordered = [stage for stage in flow if not isinstance(stage, LoadTable)]
    group: dict[str, str] = {}
    for stage in ordered:
        joined = {group[name] for name in stage.inputs if name in group}
        target = min(joined) if joined else stage.name
        group[stage.name] = target
        for member, current in group.items():
            if current in joined:
                group[member] = target
    jobs: dict[str, list[Stage]] = {}
    for stage in ordered:
        jobs.setdefault(group[stage.name], []).append(stage)
    tables = [stage for stage in flow if isinstance(stage, LoadTable)]
    return [_job([*_read_by(members, tables), *members]) for members in jobs.values() if any(not isinstance(s, Read) for s in members)]


def _read_by(members: list[Stage], tables: list[LoadTable]) -> list[LoadTable]:
    wanted = {name for stage in members for name in stage.inputs}
    return [table for table in tables if table.name in wanted]


def _job(members: list[Stage]) -> Job:
    outputs = [stage.name for stage in members if not isinstance(stage, Read | LoadTable | Write | LateRows) and "/" not in stage.name]
    reads = [stage.name for stage in members if isinstance(stage, Read)]
    reason = (
        f"{len(outputs)} connected statements over {', '.join(reads)}" if len(outputs) > 1 else f"one statement over {', '.join(reads)}"
    )
    members = rewrite_job(members)
    return Job("+".join(outputs), tuple(members), reason, needs_ticks=any(_needs_ticks(stage) for stage in members))


def _needs_ticks(stage: Stage) -> bool:
    """Whether time must go on without rows for this stage to emit."""
    match stage:
        case Read(clock=clock):
            return clock.idle_timeout is not None
        case Aggregate(time=TimeSpec(on_arrival=on_arrival), emit_policy=emit_policy):
            return on_arrival or emit_policy.interval is not None
        case LookupJoin(retry_for=retry_for):
            return retry_for is not None
        case _:
            return False


def _in_flow_order(stages: dict[str, Stage]) -> list[Stage]:
    done: dict[str, Stage] = {}

    def visit(stage: Stage) -> None:
        if stage.name in done:
            return
        for name in stage.inputs:
            if name in stages:
                visit(stages[name])
        done[stage.name] = stage

    for stage in stages.values():
        visit(stage)
    return list(done.values())
