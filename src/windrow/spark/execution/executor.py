"""One job as a function of a micro-batch: (state before, rows, clock) -> (state after, outputs, dead letters, ledger).

The executor is a loop over the operators of the physical plan; what each of them costs is measured around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.errors import JobError
from windrow.observe.ledger import Ledger
from windrow.observe.row_metrics import begun
from windrow.observe.status import StateSize
from windrow.plan.cut_over import uncounted
from windrow.plan.physical import PhysicalPlan, RunFacts, SourceFacts, StateFacts, physical_plan
from windrow.plan.stages import Job, Read
from windrow.spark.compile.python_functions import register_functions
from windrow.spark.execution.batch import BatchContext, BatchInput, BatchResult
from windrow.spark.execution.ledger_writer import LedgerWriter, record_taken_back
from windrow.spark.execution.operator_factory import operator_of
from windrow.spark.execution.row_limits import keep_to_row_limits
from windrow.spark.execution.row_metrics import RowMetrics
from windrow.spark.execution.watermarks import Watermarks
from windrow.spark.operators.base import JobContext
from windrow.spark.operators.collected_scan import CollectedScans
from windrow.spark.operators.shared_aggregation import SharedPass
from windrow.spark.operators.steps import steps_of
from windrow.spark.query.runner import QueryRunner
from windrow.spark.state.backends import StateBackendRules, StateBackends
from windrow.spark.state.job_state import Change, JobState
from windrow.spark.tables.reference_tables import ReferenceTables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# How much of the time that closed windows are kept for late rows is given up, step by step, when a limit is passed.
_SHARES = (0.25, 0.5, 0.75, 1.0)


class BatchExecutor:
    """Built once per run from a job and the facts of the run; holds the state that its batches hand on.

    ``partitions`` are those of each source, where they are known; a source may get more while it is read.
    """

    def __init__(
        self,
        spark: SparkSession,
        job: Job,
        partitions: Mapping[str, tuple[int, ...] | None],
        rules: StateBackendRules | None = None,
        tables: ReferenceTables | None = None,
        facts: RunFacts | None = None,
    ) -> None:
        self.job = job
        self.state = JobState()
        self.steps = steps_of(job)
        self._uncounted = uncounted(job)
        register_functions(spark, job.functions)
        rules, queries = rules or StateBackendRules(), QueryRunner()
        self.state_backends = StateBackends(spark, rules, queries)
        self._row_metrics = RowMetrics(spark, job.metrics)
        self.tables = tables or ReferenceTables(spark, job)
        self.watermarks = Watermarks(job, partitions)
        ledger = LedgerWriter(spark, job, queries)
        facts = facts or RunFacts({read.name: frame_facts(partitions.get(read.name)) for read in job.reads})
        self.facts = replace(facts, state=state_facts(rules))
        collected = CollectedScans(job, ledger, self.watermarks)
        plan = physical_plan(job, self.facts)
        self._context = JobContext(
            spark, job, plan, partitions, queries, self.state_backends, self.watermarks, ledger, self.tables, self.steps, collected
        )
        for shared in {one.leader.name: one for one in plan.shared.values()}.values():
            self._context.shared_passes.update(dict.fromkeys((member.name for member in shared.members), SharedPass(self._context, shared)))
        self.operators = [operator_of(spec) for spec in plan]
        for operator in self.operators:
            operator.open(self._context)

    @property
    def plan(self) -> PhysicalPlan:
        """The one in force."""
        return self._context.plan

    def run(self, batch: BatchInput) -> BatchResult:
        """Take one batch. The state moves on only when the caller commits the change (``commit``)."""
        result = BatchResult(batch.batch_id, measured=batch.measured)
        clocks = {**{read.name: self.watermarks.start(read.name, batch.now) for read in self.job.reads}, **self.state.clocks}
        run = BatchContext(batch, result, self.state, clocks, dict(clocks), self.state.counters.copy())
        self._plan_again()
        self.tables.settle(result)
        for name, taken in batch.replayed.items():
            record_taken_back(result.ledger, name, taken, is_source=name not in batch.returned)
        for operator in self.operators:
            with batch.measured.operator(operator.name, operator.phase):
                operator.process(run)
            batch.measured.take_flow(operator.name, run.flows.get(operator.name))
        for name, flow in run.flows.items():
            if "/" not in name and not isinstance(self.job.stage(name), Read):
                result.outputs.setdefault(name, flow)
        for name in self._uncounted:
            result.ledger.statements.pop(name, None)
        keep_to_row_limits(self.job, run)
        self._keep_to_limits(run)
        self.state_backends.move_what_is_large(self.job, self.state, run.tables, run.counters, batch.batch_id)
        ledger = Ledger.from_json(self.state.ledger.to_json())
        ledger.add(result.ledger)
        metrics = self._row_metrics.after(begun(self.job.metrics, self.state.metrics), run.flows, run.cached)
        result.change = Change(batch.batch_id, run.steps, run.clocks, run.counters, ledger, metrics)
        self._after = run.tables
        self._cached = run.cached
        return result

    def _plan_again(self) -> None:
        """What was found out since the last batch may change the plan: state has moved, values turned out to be no numbers."""
        facts = replace(self.facts, on_executors=frozenset(), not_numeric=frozenset())
        for operator in self.operators:
            facts = operator.found_out(facts, self.state)
        self.facts = facts
        if self.facts != self.plan.facts:
            self._context.plan = physical_plan(self.job, self.facts)
            for operator, spec in zip(self.operators, self._context.plan, strict=True):
                operator.spec = spec

    def _keep_to_limits(self, run: BatchContext) -> None:
        """With a policy to evict, closed windows that wait for late rows make room, the oldest first. What does not help stops the job."""
        for share in _SHARES if self.state_backends.may_evict else ():
            try:
                self._check_limits(run)
            except JobError:
                for operator in self.operators:
                    operator.make_room(share, run)
            else:
                return
        self._check_limits(run)

    def _check_limits(self, run: BatchContext) -> None:
        self.state_backends.check_limits(self.steps, {**self.state.tables, **run.tables}, run.counters, run.batch.batch_id)

    def commit(self, result: BatchResult) -> None:
        """The batch is durable: its state is the state."""
        assert result.change is not None
        self.state.tables.update(self._after)
        self.state.settle(result.change)
        for frame in self._cached:
            frame.unpersist()

    def held(self) -> dict[str, StateSize]:
        """What every operator holds. To count windows takes time where there are many."""
        return {operator.name: operator.held(self.state) for operator in self.operators}

    def size_of(self, name: str) -> StateSize:
        """Rows and bytes that one operator holds."""
        return next(operator for operator in self.operators if operator.name == name).size(self.state)


def frame_facts(partitions: tuple[int, ...] | None) -> SourceFacts:
    """Of rows that come as a frame made by hand, with their columns decoded."""
    return SourceFacts(None, None if partitions is None else len(partitions))


def state_facts(rules: StateBackendRules) -> StateFacts:
    return StateFacts(rules.backend, rules.folder is not None, rules.resident_max_bytes, rules.buckets)
