"""Who has to be told what now, and a thread for each channel that tells it: one that does not answer holds no other up.

What was told is kept in the registry, so that a server that starts again neither forgets anybody nor tells them twice.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from windrow.observe.alerts import FIRING, RESOLVED, Alert
from windrow.server.alert_book import AlertBook
from windrow.server.alert_channels import KEPT_MILLIS, send
from windrow.server.alert_settings import Alertmanager, AlertSettings, Channel
from windrow.server.alert_states import Standing
from windrow.server.database import LOST
from windrow.server.registry import Registry, now_millis

LOG = logging.getLogger(__name__)
_LONGEST_PAUSE = 60.0
# Without an alert that changes, a channel looks whether something is to be said again.
_GLANCE = 15.0


def is_for(channel: Channel, alert: Alert) -> bool:
    return (
        alert.level in channel.levels
        and any(fnmatchcase(alert.job, one) for one in channel.jobs)
        and any(fnmatchcase(alert.rule, one) for one in channel.rules)
    )


def due(
    channel: Channel, active: Sequence[Alert], over: Sequence[Alert], told: Mapping[str, tuple[str, int]], standing: Standing, now: int
) -> list[Alert]:
    """What fires and was not told yet, or long ago with nobody taking it on; and what is ``over`` of that which was told."""
    found = [one for one in active if one.state == FIRING and is_for(channel, one) and not standing.is_quiet(one)]
    found = [one for one in found if _is_news(channel, one, told.get(one.id), now)]
    return found + ([one for one in over if one.state == RESOLVED] if channel.resolved else [])


def _is_news(channel: Channel, alert: Alert, before: tuple[str, int] | None, now: int) -> bool:
    if before is None:
        return True
    if isinstance(channel, Alertmanager):
        # It forgets what it is not told again, and has its own ways to be silent.
        return now - before[1] >= KEPT_MILLIS // 5
    return not alert.acknowledged_by and now - before[1] >= channel.repeat_millis


@dataclass
class ChannelStanding:
    """How a channel does."""

    delivered_at: int | None = None
    error: str = ""
    failures: int = 0


class Notifier:
    def __init__(self, settings: AlertSettings, book: AlertBook, registry: Registry) -> None:
        self._settings, self._book, self._registry = settings, book, registry
        self._closing = threading.Event()
        self._wakes = {name: threading.Event() for name in settings.channels}
        self.standing = {name: ChannelStanding() for name in settings.channels}
        self._threads: list[threading.Thread] = []

    def begin(self) -> None:
        for name, channel in self._settings.channels.items():
            thread = threading.Thread(target=self._loop, args=(name, channel), name=f"windrow-tell-{name}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def close(self) -> None:
        self._closing.set()
        self.wake()
        for thread in self._threads:
            thread.join(1)

    @property
    def channels(self) -> dict[str, Channel]:
        return self._settings.channels

    def wake(self) -> None:
        for event in self._wakes.values():
            event.set()

    def _loop(self, name: str, channel: Channel) -> None:
        while not self._closing.is_set():
            pause = _GLANCE
            try:
                self.tell(name, channel)
            except LOST as error:
                LOG.warning("channel %s tells nothing: the registry does not answer: %s", name, error)
            except Exception:
                LOG.exception("channel %s failed", name)
            if self.standing[name].failures:
                # What it is to be told waits; being woken does not make it answer.
                pause = min(2.0 ** (self.standing[name].failures - 1), _LONGEST_PAUSE)
                self._closing.wait(pause)
                continue
            self._wakes[name].wait(pause)
            self._wakes[name].clear()

    def tell(self, name: str, channel: Channel) -> int:
        """Gives how many alerts were told."""
        now = now_millis()
        active = self._book.active()
        standing = Standing(active, self._book.silences(now), now)
        wanted = due(channel, active, self._book.over_and_untold(name), self._book.told(name), standing, now)
        if not wanted:
            return 0
        known = self.standing[name]
        try:
            send(channel, wanted, self._settings.page, now)
        except OSError as error:
            known.failures, known.error = known.failures + 1, str(error)
            if known.failures == 1:
                self._registry.add_event("alert.undelivered", "", f"channel {name} was not told of {len(wanted)} alerts: {error}", "error")
            return 0
        if known.failures:
            self._registry.add_event("alert.delivered", "", f"channel {name} is told again, after {known.failures} failures")
        known.delivered_at, known.failures, known.error = now_millis(), 0, ""
        self._book.note_told(name, wanted, now)
        return len(wanted)

    def try_out(self, channel: Channel) -> None:
        """Sends an alert that says it is none. Raises OSError."""
        at = time.time_ns() // 1_000_000
        text = "this is no alert: somebody tries out whether the channel works"
        made = Alert(f"test-{at}", "WindrowTest", {}, "info", text, FIRING, None, at, at, "", "", "")
        send(channel, [made], self._settings.page, at)
