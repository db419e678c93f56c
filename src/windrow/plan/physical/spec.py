"""The physical plan: the operators that run a job, in order, each with the strategies that were chosen for it and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from windrow.plan.physical.facts import RunFacts
from windrow.plan.physical.strategies import Accounting, Strategy
from windrow.plan.sharing import SharedAggregation
from windrow.plan.stages import Job, Stage

S = TypeVar("S", bound=Strategy)


@dataclass(frozen=True)
class Choice:
    """A strategy and the reason for it. ``partners`` are other operators that it takes."""

    strategy: Strategy
    reason: str
    partners: tuple[str, ...] = ()

    def __str__(self) -> str:
        """As EXPLAIN prints it."""
        among = f" ({', '.join(self.partners)})" if self.partners else ""
        return f"{self.strategy.choice}: {self.strategy.value}{among}, because {self.reason}"

    def to_json(self) -> dict[str, Any]:
        own = {"choice": self.strategy.choice, "strategy": self.strategy.key, "meaning": self.strategy.value, "reason": self.reason}
        return {**own, "with": list(self.partners)} if self.partners else own


@dataclass(frozen=True)
class OperatorSpec:
    """One operator: the stage that it runs, and how."""

    stage: Stage
    choices: tuple[Choice, ...]

    @property
    def name(self) -> str:
        return self.stage.name

    @property
    def kind(self) -> str:
        return type(self.stage).__name__

    def choice(self, kind: type[Strategy]) -> Choice | None:
        return next((choice for choice in self.choices if isinstance(choice.strategy, kind)), None)

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

    def accounts_for(self, name: str) -> str | None:
        """The source whose accounts the pass of this aggregation does, if it does any."""
        for operator in self.operators:
            choice = operator.choice(Accounting)
            if choice is not None and choice.strategy is Accounting.IN_AGGREGATION and name in choice.partners:
                return operator.name
        return None
