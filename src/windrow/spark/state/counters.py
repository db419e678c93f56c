"""The small numbers that a job carries from batch to batch, each under its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

# Of a piece of time: when it began (arrival, microseconds), rows that came, and how many of them were bad, late, violating.
Recent = tuple[int, int, int, int, int]


@dataclass
class StageCounters:
    """Of one stage, source or side of a join. Times are microseconds."""

    # Rows that were numbered as they came: of a join's side, of rows that wait, of those that OVER looks back at.
    numbered: int = 0
    # Rows that have left, where a LIMIT counts them.
    emitted: int = 0
    # In how many shares the executors hold the state; None where the driver holds it.
    buckets: int | None = None
    # Closed windows that end at or before this were let go early.
    evicted: int | None = None
    # Arrival time of the last batch, where windows follow the arrival of rows.
    arrival: int | None = None
    # Whether a row of the source ever came with headers.
    has_headers: bool = False
    # What the accounts of the last batches say, where a limit of rows is for a span of time.
    recent: tuple[Recent, ...] = ()

    def take_numbers(self, count: int) -> int:
        """Number so many rows more; gives the first number."""
        first = self.numbered
        self.numbered += count
        return first

    def to_json(self) -> dict[str, Any]:
        """What differs from a stage that was never run.

        >>> StageCounters(emitted=3).to_json()
        {'emitted': 3}
        """
        return {name: value for name, value in asdict(self).items() if value != _DEFAULTS[name]}


_DEFAULTS = {spec.name: spec.default for spec in fields(StageCounters)}


@dataclass
class JobCounters:
    stages: dict[str, StageCounters] = field(default_factory=dict)

    def of(self, name: str) -> StageCounters:
        return self.stages.setdefault(name, StageCounters())

    def buckets(self, name: str) -> int | None:
        """In how many shares the executors hold a stage's state."""
        return self.stages[name].buckets if name in self.stages else None

    def copy(self) -> JobCounters:
        return JobCounters({name: replace(one) for name, one in self.stages.items()})

    def to_json(self) -> dict[str, Any]:
        return {name: told for name, one in self.stages.items() if (told := one.to_json())}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> JobCounters:
        return JobCounters({name: _stage_counters(told) for name, told in data.items()})


def _stage_counters(told: Mapping[str, Any]) -> StageCounters:
    """
    >>> _stage_counters({"recent": [[1, 2, 0, 0, 0]]}).recent
    ((1, 2, 0, 0, 0),)
    """
    return StageCounters(**{**told, "recent": tuple(tuple(each) for each in told.get("recent", ()))})
