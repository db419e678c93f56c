"""Whether a job looks at the order in which rows came in."""

from __future__ import annotations

from windrow.connectors.registry import CONNECTORS
from windrow.model.policies import Granularity
from windrow.plan.physical.renames import form_of
from windrow.plan.stages import Aggregate, Expect, Explode, FilterProject, Job, LateRows, PartialShape, Read, Stage, Write


def needs_order(job: Job) -> bool:
    """False only where every stage is known not to ask: windows that close once over aggregates without order, and plain files."""
    return any(_asks(stage, job) for stage in job.stages)


def _asks(stage: Stage, job: Job) -> bool:
    match stage:
        case Read(clock=clock):
            return clock.granularity is Granularity.ROW
        case LateRows() | Explode() | Expect():
            return False
        case Write(connector=connector, input=name):
            return CONNECTORS[connector].is_ordered and not isinstance(job.stage(name), Aggregate)
        case FilterProject(output=output):
            return output.limit is not None or bool(output.order_by)
        case Aggregate(partial_shape=shape, aggregates=aggregates, is_exact=is_exact):
            return (
                is_exact
                or shape is not PartialShape.SLICES
                or any("{seq}" in part.sql for item in aggregates for part in form_of(item).parts)
            )
        case _:
            return True
