"""From stages to operators: which strategy each takes in a run, and why. Pure: the same function for EXPLAIN and for the executor."""

from windrow.plan.physical.facts import NO_WISHES, RunFacts, RunWishes, SourceFacts, StateFacts, expected_facts
from windrow.plan.physical.planner import physical_plan
from windrow.plan.physical.spec import Choice, OperatorSpec, PhysicalPlan

__all__ = [
    "NO_WISHES",
    "Choice",
    "OperatorSpec",
    "PhysicalPlan",
    "RunFacts",
    "RunWishes",
    "SourceFacts",
    "StateFacts",
    "expected_facts",
    "physical_plan",
]
