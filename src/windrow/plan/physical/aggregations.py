"""How an aggregation gets its rows, who makes its running totals, holds its state and finishes what it emits."""

from __future__ import annotations

from windrow.model.accumulation import Accumulation
from windrow.model.expr import Column, Expr
from windrow.model.policies import StateBackendSetting
from windrow.model.types import BIGINT, DOUBLE, FLOAT, INT, SMALLINT, TINYINT, UNKNOWN, DataType
from windrow.model.window_kinds import FixedKind, MovingKind
from windrow.plan.physical.facts import RunFacts
from windrow.plan.physical.renames import emission_renames, form_of, part_names
from windrow.plan.physical.spec import Choice
from windrow.plan.physical.strategies import Finish, Merge, Pass, State, Totals
from windrow.plan.sharing import SharedAggregation
from windrow.plan.stages import Aggregate, Job, PartialShape, Read

# From more tasks than these, it takes longer to merge what each has than to bring it together first.
MOST_SHARES = 8
_NUMBERS = (TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE)


def aggregate_choices(
    stage: Aggregate, job: Job, facts: RunFacts, group: SharedAggregation | None, source: str | None
) -> tuple[Choice, ...]:
    """``group`` is what the stage shares its pass with; ``source`` the one whose accounts that pass does, if it does any."""
    state = state_choice(stage, facts)
    choices = [pass_choice(stage, job, facts, group, source)]
    if stage.partial_shape in (PartialShape.SLICES, PartialShape.WINDOWS):
        choices.append(merge_choice(stage, state))
    if stage.partial_shape is PartialShape.RUNNING:
        choices.append(totals_choice(stage, job, facts, state))
    return (*choices, state, finish_choice(stage))


def pass_choice(stage: Aggregate, job: Job, facts: RunFacts, group: SharedAggregation | None, source: str | None) -> Choice:
    if group is not None:
        others = tuple(member.name for member in group.members if member.name != stage.name)
        if is_shared_now(group, facts):
            return Choice(Pass.SHARED, f"they filter and group the rows of {stage.input} alike", others)
        if source is None or group.members[0].name != stage.name:
            return Choice(Pass.OWN, "the state of one that it could share the pass with is on the executors")
    if source is not None:
        return Choice(Pass.SOURCE, f"it reads {source} directly and its windows go by the clock of {source}")
    is_source = isinstance(job.stage(stage.input), Read)
    return Choice(Pass.OWN, f"{stage.input} has accounts of its own" if is_source else f"{stage.input} is no source")


def is_shared_now(group: SharedAggregation, facts: RunFacts) -> bool:
    """Whether the state of all that could share a pass is in the driver."""
    return not any(is_on_executors(member, facts) for member in group.members)


def is_on_executors(stage: Aggregate, facts: RunFacts) -> bool:
    return stage.name in facts.on_executors or (facts.state.can_move and facts.state.backend is StateBackendSetting.DISTRIBUTED)


def state_choice(stage: Aggregate, facts: RunFacts) -> Choice:
    rules = facts.state
    if rules.can_move and rules.backend is StateBackendSetting.DISTRIBUTED:
        return Choice(State.EXECUTORS, f"state.home is distributed; there are {rules.buckets} buckets")
    if stage.name in facts.on_executors:
        return Choice(State.EXECUTORS, "it has grown beyond state.resident.max_bytes, or had before the job was started again")
    if rules.backend is StateBackendSetting.RESIDENT:
        return Choice(State.DRIVER, "state.home is resident")
    if not rules.can_move:
        return Choice(State.DRIVER, "the executors cannot reach the state folder")
    return Choice(State.DRIVER, f"that is fastest while it fits; beyond {rules.resident_max_bytes:,} bytes it moves to the executors")


def merge_choice(stage: Aggregate, state: Choice) -> Choice:
    if state.strategy is State.EXECUTORS:
        return Choice(Merge.EXCHANGE, "the rows of a group go to the bucket that holds it")
    if stage.partial_shape is not PartialShape.SLICES:
        return Choice(Merge.EXCHANGE, "what is emitted before a window closes needs every partial of a group")
    if not isinstance(stage.window, FixedKind):
        return Choice(Merge.EXCHANGE, "the bounds of a window are made of whole slices")
    if stage.is_exact:
        return Choice(Merge.EXCHANGE, "rows are judged by the watermark of their own, and a batch is merged piece by piece")
    reason = f"slices are put together when a window closes; those of more than {MOST_SHARES} tasks are brought together before"
    return Choice(Merge.STATE, reason, otherwise=Merge.EXCHANGE)


def totals_choice(stage: Aggregate, job: Job, facts: RunFacts, state: Choice) -> Choice:
    if state.strategy is State.EXECUTORS:
        return Choice(Totals.SPARK_WINDOW, "the state is on the executors")
    if not runs_by_row(stage) or runs_of(stage) is None:
        return Choice(Totals.SPARK_WINDOW, "some aggregate cannot be added up row by row")
    if stage.name in facts.not_numeric or not all(_may_be_number(kind) for kind in _part_types(stage, job)):
        return Choice(Totals.SPARK_WINDOW, "some aggregate is of other values than whole or floating-point numbers")
    return Choice(Totals.DRIVER, "all of them are sums, counts, least or greatest of numbers, which takes a third of the time")


def finish_choice(stage: Aggregate) -> Choice:
    if emission_renames(stage) is not None:
        return Choice(Finish.RENAME, "every column of SELECT is a key, a plain aggregate or a bound of the window")
    return Choice(Finish.SPARK_SELECT, _why_select(stage))


def _why_select(stage: Aggregate) -> str:
    reasons = {
        "there is a HAVING": stage.having is not None,
        "there is an ORDER BY": bool(stage.output.order_by),
        "the key is an expression or of several columns": stage.output.key is not None or len(stage.keys) > 1,
        "headers go with the emissions": bool(stage.output.headers) or stage.keeps_headers,
        "the event time of a group is that of its last row": stage.keeps_time,
        "a window starts where a row says": stage.starts_at is not None,
    }
    return next((reason for reason, holds in reasons.items() if holds), "SELECT has expressions to evaluate")


def runs_of(stage: Aggregate) -> dict[str, Accumulation] | None:
    """How each part runs up, by column and in their order; None where one does not."""
    parts = {part_names(item)[part.name]: part for item in stage.aggregates for part in form_of(item).parts}
    runs = {column: part.run for column, part in parts.items() if part.run is not None}
    return runs if len(runs) == len(parts) else None


def runs_by_row(stage: Aggregate) -> bool:
    """Whether running totals are asked for, and nothing is looked at for them but the rows of a pane in their order."""
    return stage.partial_shape is PartialShape.RUNNING and not stage.is_strict and not has_pieces(stage)


def has_pieces(stage: Aggregate) -> bool:
    """Without lateness, what a fixed window takes is told row by row and nothing is said again, so a batch is one piece."""
    return stage.is_exact and (stage.lateness > 0 or isinstance(stage.window, MovingKind))


def _part_types(stage: Aggregate, job: Job) -> list[DataType]:
    """The types that values of the parts have, as far as they are known without Spark: those of columns of a source."""
    source = job.stage(stage.input)
    columns = {column.name.lower(): column.type for column in source.columns} if isinstance(source, Read) else {}
    values = (
        item.call.args[0]
        for item in stage.aggregates
        if item.call.args and not all(part.sql.startswith("count(") for part in form_of(item).parts)
    )
    return [_type_of(value, columns) for value in values]


def _type_of(value: Expr, columns: dict[str, DataType]) -> DataType:
    return columns.get(value.name.lower(), UNKNOWN) if isinstance(value, Column) else UNKNOWN


def _may_be_number(type_: DataType) -> bool:
    return type_ == UNKNOWN or type_ in _NUMBERS
