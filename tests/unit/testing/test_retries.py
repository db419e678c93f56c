"""A case whose worker did not start in time is tried again: the machine was too busy, and the case is not at fault."""

from __future__ import annotations

from typing import Any, cast

import pytest

from windrow.errors import OutageError
from windrow.testing.case import Case
from windrow.testing.runner import CaseRunner, Verdict


class Stumbling(CaseRunner):
    """Fails ``times`` times for want of a worker, then passes."""

    def __init__(self, times: int) -> None:
        super().__init__(cast("Any", None))
        self.left = times

    def _judge(self, case: Case) -> Verdict:
        if self.left:
            self.left -= 1
            raise OutageError("WR851", "a Python worker of Spark did not start within ten seconds")
        return Verdict(case, True)


@pytest.mark.parametrize(("times", "passes"), [(0, True), (2, True), (3, False)])
def test_a_case_is_tried_three_times(times: int, passes: bool) -> None:
    case = Case("c", "SELECT 1", (), None, [])
    assert Stumbling(times).run(case).passed is passes
