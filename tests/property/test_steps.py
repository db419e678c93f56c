"""The steps against the reference, for random windows, clocks, emission rules, orders and batch cuts."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from hypothesis import HealthCheck, settings

from tests.property.feeding import Engine
from tests.property.reference import Batch, CountWindow, Query, Reference, SessionWindow

QUICK = settings(max_examples=150, deadline=None, derandomize=False, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
SLOW = settings(QUICK, max_examples=3000)


def check_against_reference(run: tuple[Query, list[Batch]], shuffle: Random) -> None:
    query, batches = run
    engine, reference = Engine(query, shuffle), Reference(query)
    for batch in batches:
        said, expected = engine.take(batch), reference.take(batch)
        assert Counter(said) == Counter(expected), (query, batch)
        assert Counter(_bare(engine.rejected)) == Counter(_bare(reference.rejected))
        for_one = [(e.key, e.start, e.revision) for e in said]
        if query.mode == "changes" and not isinstance(query.window, SessionWindow):
            assert said == expected, "changes come in input order"
        elif not isinstance(query.window, CountWindow):
            assert for_one == sorted(for_one, key=lambda e: (for_one_order(e, for_one), e[2])), "revisions count up"


def for_one_order(emission: tuple[Any, ...], all_of_them: list[tuple[Any, ...]]) -> int:
    """Where an emission's own (group, window) stands first: sorting by it leaves the order of windows as it is."""
    return next(i for i, other in enumerate(all_of_them) if other[:2] == emission[:2])


def _bare(rows: list[Any]) -> list[Any]:
    return [(row.value, row.at, row.partition) for row in rows]
