"""A job and the facts of its run become operators. EXPLAIN prints them, and the executor runs them: one function for both."""

from __future__ import annotations

from typing import assert_never

from windrow.aggregates import find_aggregate
from windrow.model.policies import MissingTableRow
from windrow.plan.physical.aggregations import aggregate_choices, is_on_executors, is_shared_now
from windrow.plan.physical.facts import NO_WISHES, RunFacts, expected_facts
from windrow.plan.physical.renames import driver_columns, is_only_renamed
from windrow.plan.physical.scans import accounting_choice, cache_choice, scan_choice, sink_counted_stage
from windrow.plan.physical.spec import Choice, OperatorSpec, PhysicalPlan
from windrow.plan.physical.strategies import Accounting, Load, Lookup, Over, Projection, RowHandling, Sides, Sink, State
from windrow.plan.sharing import SharedAggregation, shared_aggregations
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
    OverCalls,
    Read,
    Stage,
    StreamJoin,
    SubqueryLookup,
    UnionAll,
    UpsertTable,
    WindowRows,
    Write,
)
from windrow.plan.stream_joins import AsofJoin, WindowJoin

# Calls that one ordinary frame over the arrival order answers, beside aggregates.
_IN_TURN = frozenset({"LAG", "LEAD", "ROW_NUMBER", "FIRST_VALUE", "LAST_VALUE", "NTH_VALUE", "FIRST", "LAST"})


def physical_plan(job: Job, facts: RunFacts | None = None) -> PhysicalPlan:
    """``facts`` are those of a run; None: those of a run with default settings."""
    return _Planner(job, expected_facts(job, NO_WISHES) if facts is None else facts).plan()


class _Planner:
    def __init__(self, job: Job, facts: RunFacts) -> None:
        self._job = job
        self._facts = facts
        self._shared: dict[str, SharedAggregation] = {member.name: one for one in shared_aggregations(job) for member in one.members}
        self._accounting = {read.name: accounting_choice(read, job, facts, self._shared) for read in job.reads}

    def plan(self) -> PhysicalPlan:
        operators = tuple(OperatorSpec(stage, self._choices(stage)) for stage in self._job.stages)
        return PhysicalPlan(self._job, self._facts, operators, self._shared)

    def _choices(self, stage: Stage) -> tuple[Choice, ...]:
        match stage:
            case Read():
                return self._read(stage)
            case LoadTable(refresh=None):
                return (Choice(Load.AT_START, "no 'refresh.interval' is given"),)
            case LoadTable():
                return (Choice(Load.REFRESHED, "'refresh.interval' is given"),)
            case FilterProject():
                return self._filter_project(stage)
            case Explode():
                counting = Choice(Accounting.OWN_JOB, "a row for which the generator gives nothing is counted, too")
                return Choice(RowHandling.GENERATE, "generators are Spark's"), counting
            case SubqueryLookup():
                return (Choice(Lookup.SUBQUERY, "tables are in Spark's memory"),)
            case Aggregate():
                source = next((name for name, own in self._accounting.items() if self._accounts(own, stage)), None)
                return aggregate_choices(stage, self._job, self._facts, self._shared.get(stage.name), source)
            case OverAggregate():
                return self._over(stage)
            case LookupJoin():
                return _lookup_join(stage)
            case IntervalJoin() | AsofJoin() | WindowJoin():
                return self._stream_join(stage)
            case WindowRows():
                return (Choice(RowHandling.UNNEST, f"the windows of {stage.of} are put out there"),)
            case LateRows(of=of):
                return (Choice(RowHandling.PASS_ON, f"{of} has set them aside in the driver"),)
            case UnionAll() | InsertUnion():
                return (Choice(RowHandling.UNION, "its inputs are read as one"),)
            case Expect(input=given):
                if driver_columns(self._job.stage(given), self._job) is not None:
                    return (Choice(RowHandling.JUDGE_IN_DRIVER, f"the rows of {given} are there"),)
                return (Choice(RowHandling.JUDGE_ON_EXECUTORS, f"the rows of {given} are there, to be counted and passed on"),)
            case UpsertTable():
                reason = "joins look it up as it stands after the rows of a batch"
                return Choice(RowHandling.LATEST, reason), Choice(State.DRIVER, "tables that queries make are held there")
            case Write():
                return (self._write(stage),)
            case _:
                assert_never(stage)

    @staticmethod
    def _accounts(accounting: Choice, stage: Aggregate) -> bool:
        return accounting.strategy is Accounting.IN_AGGREGATION and stage.name in accounting.partners

    def _read(self, read: Read) -> tuple[Choice, ...]:
        accounting = self._accounting[read.name]
        is_in_pass = accounting.strategy is Accounting.IN_AGGREGATION
        readers = [stage for stage in self._job.readers_of(read.name) if isinstance(stage, Aggregate)]
        group = self._shared.get(readers[0].name) if is_in_pass else None
        is_shared = group is not None and is_shared_now(group, self._facts)
        # Passes that could be shared and are not read rows that are kept for the batch.
        is_in_driver = is_in_pass and (is_shared if group is not None else not is_on_executors(readers[0], self._facts))
        return (
            scan_choice(read, self._job, self._facts, is_in_driver),
            accounting,
            cache_choice(read, self._job, self._facts, accounting, is_shared),
        )

    def _filter_project(self, stage: FilterProject) -> tuple[Choice, ...]:
        source = self._job.stage(stage.input)
        if isinstance(source, Read):
            counted = sink_counted_stage(self._job)
            is_counted = counted is not None and counted[1] is stage and stage.name in self._facts.counting_sinks
            kind = Accounting.WHILE_SINK_READS if is_counted else Accounting.WITH_SOURCE
            accounting = Choice(kind, f"it reads {stage.input} directly")
        elif stage.where is None and driver_columns(source, self._job) is not None:
            accounting = Choice(Accounting.FROM_TABLE, f"the rows of {stage.input} are in the driver and none is filtered")
        else:
            accounting = Choice(Accounting.OWN_JOB, f"{stage.input} does not know how many of its rows pass")
        if is_only_renamed(stage, self._job):
            return Choice(Projection.RENAME, f"the rows of {stage.input} are there, and nothing is computed"), accounting
        return Choice(Projection.SPARK_SELECT, "there are expressions to evaluate, or the rows are on the executors"), accounting

    @staticmethod
    def _over(stage: OverAggregate) -> tuple[Choice, ...]:
        choices = tuple(_over_calls(group) for group in stage.over_calls)
        return (*choices, Choice(State.DRIVER, "rows that calls look back at are held there")) if stage.keeps_rows else choices

    def _stream_join(self, stage: StreamJoin) -> tuple[Choice, ...]:
        sides = [self._job.stage(side.input) for side in (stage.left, stage.right)]
        collected = [isinstance(side, Read) and self._accounting[side.name].strategy is Accounting.IN_DRIVER for side in sides]
        held = Choice(State.DRIVER, "rows that can still be joined are held there")
        if all(collected):
            return Choice(Sides.COLLECTED_AT_ONCE, "no other statement reads them, so one reading serves the accounts and the join"), held
        if any(collected):
            return Choice(Sides.COLLECTED_ONE, "no other statement reads that one"), held
        return Choice(Sides.COLLECTED_IN_TURN, "their rows come from other statements, are read by others, or errors stop the join"), held

    def _write(self, stage: Write) -> Choice:
        source = self._job.stage(stage.input)
        if stage.outage.is_buffered:
            return Choice(Sink.COLLECTED, f"'on.unavailable' is '{stage.outage.policy}'")
        if driver_columns(source, self._job) is not None:
            return Choice(Sink.TABLE, f"the rows of {stage.input} are there")
        counted = sink_counted_stage(self._job)
        if counted is not None and stage.input in self._facts.counting_sinks:
            return Choice(Sink.COUNTED_FRAME, "the accounts of the source are done on the way")
        return Choice(Sink.FRAME, f"the rows of {stage.input} are there")


def _lookup_join(stage: LookupJoin) -> tuple[Choice, ...]:
    choices = [
        Choice(Lookup.BROADCAST, "tables are small enough for every executor")
        if stage.retry_for is None
        else Choice(Lookup.BROADCAST_AND_RETRY, "'join.on_missing' is 'wait'")
    ]
    if any(lookup.on_missing in (MissingTableRow.SKIP, MissingTableRow.FAIL) for lookup in stage.lookups):
        choices.append(Choice(Accounting.OWN_JOB, "a row that finds nothing is left out, or stops the job"))
    if stage.retry_for is not None:
        choices.append(Choice(State.DRIVER, "rows that wait are held there"))
    return tuple(choices)


def _over_calls(group: OverCalls) -> Choice:
    if group.is_at_once:
        return Choice(Over.EMISSION, "the rows of a partition belong to one window and come out together")
    orders = {over.spec.order_by for _, over in group.calls}
    frames = [over.spec.frame for _, over in group.calls]
    is_plain = all(over.call.name.upper() in _IN_TURN or find_aggregate(over.call) is not None for _, over in group.calls)
    if not is_plain or any(frame is not None and frame.is_range for frame in frames):
        return Choice(Over.PAIRS, "some call is a ranking or has a RANGE frame, over the rows that had arrived by then")
    if orders == {()}:
        return Choice(Over.ARRIVAL_ORDER, "no call asks for another order")
    if len(orders) > 1 or len(next(iter(orders))) != 1 or any(key.descending for key in next(iter(orders))):
        return Choice(Over.PAIRS, "the calls ask for an order that rows do not arrive in")
    return Choice(Over.ARRIVAL_ORDER, "each batch tells whether its rows arrived in that order", otherwise=Over.PAIRS)
