"""The steps against the reference, for random windows, clocks, emission rules, orders and batch cuts."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from hypothesis import HealthCheck, settings

from tests.property.feeding import Engine
from tests.property.reference import Batch, CountWindow, Emission, FixedWindow, Query, Reference, SessionWindow

QUICK = settings(max_examples=150, deadline=None, derandomize=False, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
SLOW = settings(QUICK, max_examples=3000)


def check_against_reference(run: tuple[Query, list[Batch]], shuffle: Random) -> None:
    query, batches = run
    engine, reference = Engine(query, shuffle), Reference(query)
    for batch in batches:
        said, expected = engine.take(batch), reference.take(batch)
        assert Counter(said) == Counter(expected), f"{set(said) - set(expected)} instead of {set(expected) - set(said)}"
        assert Counter(_bare(engine.rejected)) == Counter(_bare(reference.rejected))
        if query.mode == "changes":
            assert said == expected, "changes come in input order"
        elif not isinstance(query.window, CountWindow):
            assert _are_numbered_in_order(said)


def _are_numbered_in_order(said: list[Emission]) -> bool:
    latest: dict[tuple[str | None, int], int] = {}
    for emission in said:
        if emission.revision <= latest.get(emission[:2], 0):
            return False
        latest[emission[:2]] = emission.revision
    return True


def _bare(rows: list[Any]) -> list[Any]:
    return [(row.value, row.at, row.partition) for row in rows]
