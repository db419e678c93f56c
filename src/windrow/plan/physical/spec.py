"""The physical plan: the operators that run a job, in order, each with the strategies that were chosen for it and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from windrow.plan.physical.facts import RunFacts
from windrow.plan.physical.strategies import Accounting, Strategy
from windrow.plan.sharing import SharedAggregation
from windrow.plan.stages import Job, Stage, StreamJoin

S = TypeVar("S", bound=Strategy)


@dataclass(frozen=True)
class Choice:
    """A strategy and the reason for it. ``partners`` are other operators that it takes.

    ``otherwise`` is the way of batches for which the strategy turns out not to do.
    """

    strategy: Strategy
    reason: str
    partners: tuple[str, ...] = ()
    otherwise: Strategy | None = None

    def __str__(self) -> str:
        """As EXPLAIN prints it."""
        among = f" ({', '.join(self.partners)})" if self.partners else ""
        other = f", else {self.otherwise.value}" if self.otherwise is not None else ""
        return f"{self.strategy.choice}: {self.strategy.value}{among}{other}, because {self.reason}"

    def to_json(self) -> dict[str, Any]:
        own = {"choice": self.strategy.choice, "strategy": self.strategy.key, "meaning": self.strategy.value, "reason": self.reason}
        own |= {"with": list(self.partners)} if self.partners else {}
        return own | ({"otherwise": self.otherwise.key} if self.otherwise is not None else {})


@dataclass(frozen=True)
class OperatorSpec:
    """One operator: the stage that it runs, and how. Where a stage makes a choice for each of its parts, these are in their order."""

    stage: Stage
    choices: tuple[Choice, ...]

    @property
    def name(self) -> str:
        return self.stage.name

    @property
    def kind(self) -> str:
        return type(self.stage).__name__

    @property
    def distinct(self) -> tuple[Choice, ...]:
        """The choices as they are shown: what is chosen alike for several parts is said once."""
        return tuple(dict.fromkeys(self.choices))

    def choices_of(self, kind: type[Strategy]) -> tuple[Choice, ...]:
        return tuple(choice for choice in self.choices if isinstance(choice.strategy, kind))

    def choice(self, kind: type[Strategy]) -> Choice | None:
        return next(iter(self.choices_of(kind)), None)

    def chosen(self, kind: type[S]) -> S | None:
        """The strategy of a kind; None where the operator has no such choice."""
        return next((choice.strategy for choice in self.choices if isinstance(choice.strategy, kind)), None)


@dataclass(frozen=True)
class PhysicalPlan:
    """``shared`` are the aggregations that several operators take their part of, by the name of each of these."""

    job: Job
    facts: RunFacts
    operators: tuple[OperatorSpec, ...]
    shared: dict[str, SharedAggregation]

    def __iter__(self) -> Iterator[OperatorSpec]:
        return iter(self.operators)

    def of(self, name: str) -> OperatorSpec:
        return next(operator for operator in self.operators if operator.name == name)

    @property
    def collected(self) -> dict[str, tuple[StreamJoin, int]]:
        """The sources that a join takes to the driver whole, each with that join and the side of it (0: left, 1: right)."""
        found: dict[str, tuple[StreamJoin, int]] = {}
        for operator in self.operators:
            choice = operator.choice(Accounting)
            if choice is not None and choice.strategy is Accounting.IN_DRIVER:
                join = self.job.stage(choice.partners[0])
                assert isinstance(join, StreamJoin)
                found[operator.name] = join, [side.input for side in (join.left, join.right)].index(operator.name)
        return found

    def accounts_for(self, name: str) -> str | None:
        """The source whose accounts the pass of this aggregation does, if it does any."""
        for operator in self.operators:
            choice = operator.choice(Accounting)
            if choice is not None and choice.strategy is Accounting.IN_AGGREGATION and name in choice.partners:
                return operator.name
        return None
