"""Outputs that fall back on another one are told how that one is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from windrow.plan.outages import OtherOutput
from windrow.plan.stages import Stage, Write


def with_other_outputs(stages: Mapping[str, Stage]) -> dict[str, Stage]:
    writes = {stage.input.lower(): stage for stage in stages.values() if isinstance(stage, Write)}
    return {name: _with_other(stage, writes) for name, stage in stages.items()}


def _with_other(stage: Stage, writes: Mapping[str, Write]) -> Stage:
    if not isinstance(stage, Write) or stage.outage.other is None:
        return stage
    found = writes.get(stage.outage.other.statement.lower())
    assert found is not None, "an output without the other one passed the checks"
    return replace(stage, outage=replace(stage.outage, other=OtherOutput(found.input, found.connector, found.options)))
