"""What a case gave, in the order in which its rows arrived."""

from __future__ import annotations

from typing import Any, cast

import pytest

from windrow.model.fate import Fate
from windrow.spark.execution.batch import BatchResult
from windrow.spark.execution.dead_letters import DeadLetter
from windrow.testing.engine import Outcome


def _letters(outcome: Outcome, rows: list[dict[str, Any]]) -> list[Any]:
    """The rows of a batch are all set aside, and found the other way round."""
    handed = outcome.hand_over("t", rows, 10).to_pylist()
    letters = [DeadLetter(Fate.LATE, "T", "out", {**own, "v": row["v"]}, 0) for own, row in zip(handed, rows, strict=True)]
    outcome.take(BatchResult(0, dead_letters=letters[::-1]), cast("Any", None))
    return [row["v"] for row in outcome.dead_letters]


@pytest.mark.parametrize(
    "rows",
    [
        [{"v": 1}, {"v": 2}, {"v": 3}],
        [{"v": 1, "_partition": 1}, {"v": 2, "_partition": 0}, {"v": 3, "_partition": 1}],
        [{"v": 1, "_partition": 1, "_offset": 7}, {"v": 2, "_partition": 0, "_offset": 7}, {"v": 3, "_partition": 1, "_offset": 8}],
    ],
    ids=["plain", "partitions", "offsets"],
)
def test_dead_letters_come_in_the_order_of_arrival(rows: list[dict[str, Any]]) -> None:
    assert _letters(Outcome(), rows) == [1, 2, 3]


def test_letters_of_a_later_batch_come_after_those_of_an_earlier_one() -> None:
    outcome = Outcome()
    _letters(outcome, [{"v": 1, "_offset": 50}])
    assert _letters(outcome, [{"v": 2, "_offset": 3}]) == [1, 2]
