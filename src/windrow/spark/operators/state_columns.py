"""What the columns of a stage's state mean, told from its plan."""

from __future__ import annotations

from windrow.plan.explain_joins import as_written
from windrow.plan.stages import Aggregate, Job, OverAggregate, Stage, StreamJoin
from windrow.spark.operators.join_sides import key_names, side_names
from windrow.spark.operators.over_aggregate import key_name, order_name
from windrow.spark.state.columns import KEY, ColumnMeaning, Meanings, aggregate_meanings
from windrow.sql import render_expr


def column_meanings(job: Job) -> dict[str, Meanings]:
    """By the name under which a stage, or a side of a join, keeps its state."""
    found: dict[str, Meanings] = {}
    for stage in job.stages:
        found.update(_meanings_of(stage))
    return found


def _meanings_of(stage: Stage) -> dict[str, Meanings]:
    match stage:
        case Aggregate(name=name):
            return {name: aggregate_meanings(stage)}
        case OverAggregate(name=name, over_calls=groups):
            meanings: dict[str, ColumnMeaning] = {}
            for i, group in enumerate(groups):
                meanings.update({key_name(i, j): ColumnMeaning(KEY, render_expr(key)) for j, key in enumerate(group.partition_by)})
                if order := group.calls[0][1].spec.order_by:
                    meanings[order_name(i)] = ColumnMeaning(KEY, f"ORDER BY {render_expr(order[0].expr)}")
            return {name: meanings}
        case _ if isinstance(stage, StreamJoin):
            sides = zip(side_names(stage), zip(*stage.keys, strict=True), strict=True)
            return {
                name: {column: ColumnMeaning(KEY, as_written(key)) for column, key in zip(key_names(stage), keys, strict=True)}
                for name, keys in sides
            }
        case _:
            return {}
