"""Whose time a stage's rows have: the sources they come from."""

from __future__ import annotations

from windrow.plan.stages import Job, LookupJoin, Read, Stage


def roots_of(job: Job) -> dict[str, tuple[str, ...]]:
    """The sources each stage's rows come from."""
    roots: dict[str, tuple[str, ...]] = {}
    for stage in job.stages:
        own = (stage.name,) if isinstance(stage, Read) else tuple(r for name in timed_by(stage) for r in roots.get(name, ()))
        roots[stage.name] = tuple(dict.fromkeys(own))
    return roots


def timed_by(stage: Stage) -> tuple[str, ...]:
    """The inputs whose time is the stage's: a table that is looked up holds nothing back."""
    return (stage.stream.input,) if isinstance(stage, LookupJoin) else stage.inputs
