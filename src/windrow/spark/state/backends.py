"""Where the state of each stage lives, and its move from the driver to the executors when it grows too large."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from windrow.errors import JobError
from windrow.model.policies import StateBackendSetting
from windrow.plan.physical.strategies import State
from windrow.plan.stages import Aggregate, Job
from windrow.spark.query.runner import QueryRunner
from windrow.spark.state.backend import DriverState, StateBackend
from windrow.spark.state.counters import JobCounters
from windrow.spark.state.executor_state import ExecutorState
from windrow.spark.state.job_state import JobState
from windrow.storage import Files, folder_name
from windrow.windowing.step import Tables, WindowStep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class StateBackendRules:
    """``folder`` is where buckets would stand; None where executors cannot reach it, and then everything stays in the driver."""

    folder: Files | None = None
    backend: StateBackendSetting = StateBackendSetting.AUTO
    resident_max_bytes: int = 1 << 30
    buckets: int = 8
    snapshot_every: int = 20
    retain: int = 100
    max_bytes: int | None = None
    max_groups: int | None = None
    on_limit: str = "stop"

    def is_too_large(self, tables: Mapping[str, pl.DataFrame]) -> bool:
        """Whether state of this size is better held by the executors."""
        if self.folder is None or self.backend is StateBackendSetting.RESIDENT:
            return False
        return _size(tables) > self.resident_max_bytes


class StateBackends:
    """``distributed`` are the stages that the executors hold, by name. Which these are is part of the state: a counter each."""

    def __init__(self, spark: SparkSession, rules: StateBackendRules, queries: QueryRunner) -> None:
        self._spark = spark
        self._queries = queries
        self._rules = rules
        self.distributed: dict[str, ExecutorState] = {}

    @property
    def may_evict(self) -> bool:
        return self._rules.on_limit == "evict"

    def of(self, where: State, stage: Aggregate, step: WindowStep, state: JobState, counters: JobCounters, batch_id: int) -> StateBackend:
        """``where`` the plan has it. What is to be with the executors from the start moves there before its first batch."""
        if where is State.DRIVER:
            return DriverState(stage.name, step, state, self._queries)
        if counters.buckets(stage.name) is None:
            self._move(stage, state, state.tables.get(stage.name, {}), counters, batch_id - 1)
        buckets = counters.buckets(stage.name)
        assert buckets is not None, "what has moved is in buckets"
        return self.executors(stage, state, buckets)

    def executors(self, stage: Aggregate, state: JobState, buckets: int) -> ExecutorState:
        if stage.name not in self.distributed:
            assert self._rules.folder is not None
            folder = self._rules.folder.child(folder_name(stage.name))
            every, retain = self._rules.snapshot_every, self._rules.retain
            self.distributed[stage.name] = ExecutorState(self._spark, stage, buckets, folder, state, every, retain)
        return self.distributed[stage.name]

    def check_limits(self, steps: Mapping[str, WindowStep], held: Mapping[str, Tables], counters: JobCounters, batch_id: int) -> None:
        """Before a batch is done: nothing may have grown beyond its limit."""
        if self._rules.max_bytes is not None:
            size = sum(_size(tables) for tables in held.values()) + sum(one.bytes_held for one in self.distributed.values())
            if size > self._rules.max_bytes:
                raise _beyond("the state of the job", f"{size:,} bytes", "state.max_bytes", self._rules.max_bytes)
        if self._rules.max_groups is not None:
            for name, step in steps.items():
                is_here = counters.buckets(name) is None
                tables = held.get(name, {}) if is_here else None
                count = self._count(name, step, tables, batch_id, self._rules.max_groups)
                if count > self._rules.max_groups:
                    raise _beyond(f"the state of {name}", f"{count:,} groups and windows", "state.max_groups", self._rules.max_groups)

    def _count(self, name: str, step: WindowStep, tables: Tables | None, batch_id: int, enough: int) -> int:
        """How many groups and windows a stage holds after a batch, here (``tables``) or with the executors.

        They are not counted one by one where there cannot be more than ``enough``.
        """
        if tables is None:
            if self.distributed[name].rows_held <= enough:
                return self.distributed[name].rows_held
            there = self.distributed[name].open_windows(batch_id)
            return 0 if there is None else there.height
        rows = sum(table.height for table in tables.values())
        if rows <= enough:
            return rows
        windows = step.open_windows(tables)
        return 0 if windows is None else windows.height

    def move_what_is_large(self, job: Job, state: JobState, after: Mapping[str, Tables], counters: JobCounters, batch_id: int) -> None:
        for stage in job.stages:
            if isinstance(stage, Aggregate) and counters.buckets(stage.name) is None:
                held = after.get(stage.name, {})
                if self._rules.is_too_large(held):
                    self._move(stage, state, held, counters, batch_id)

    def _move(self, stage: Aggregate, state: JobState, tables: Tables, counters: JobCounters, batch_id: int) -> None:
        """Hand a stage's state as it stood after a batch to the executors."""
        self.executors(stage, state, self._rules.buckets).settle_in(tables, batch_id)
        counters.of(stage.name).buckets = self._rules.buckets


def _size(tables: Mapping[str, pl.DataFrame]) -> int:
    return int(sum(table.estimated_size() for table in tables.values()))


def _beyond(what: str, size: str, setting: str, limit: int) -> JobError:
    return JobError(
        "WR807",
        f"{what} has grown to {size}, beyond {setting} = {limit:,}; the batch that did it is not taken",
        f"run again with --set {setting}={2 * limit}, or hold less: a shorter ALLOWED_LATENESS, a 'state.ttl', fewer groups",
    )
