"""What is said of alerts now: whom a silence or the failure of the job keeps from being told."""

from __future__ import annotations

from collections.abc import Sequence

from windrow.observe.alerts import FIRING, RESOLVED, Alert
from windrow.server.alert_book import Silence

JOB_FAILED = "WindrowJobFailed"


class Standing:
    """What is said of alerts now: whether they are silenced, or another stands for them."""

    def __init__(self, active: Sequence[Alert], silences: Sequence[Silence], now: int) -> None:
        self._failed = {one.job for one in active if one.rule == JOB_FAILED and one.state == FIRING}
        self._silences, self._now = silences, now

    def silence(self, alert: Alert) -> Silence | None:
        return next((one for one in self._silences if one.covers(alert, self._now)), None)

    def is_inhibited(self, alert: Alert) -> bool:
        """Of a job that has failed only that is told: what else is wrong with it follows."""
        return alert.state != RESOLVED and alert.rule != JOB_FAILED and alert.job in self._failed

    def is_quiet(self, alert: Alert) -> bool:
        return self.silence(alert) is not None or self.is_inhibited(alert)
