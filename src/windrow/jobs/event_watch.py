"""Watches one running job, and writes what happens to it into its folder and its log. Looking costs next to nothing."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from windrow.jobs.line_log import LineLog, line_files, lines_of
from windrow.observe.event import ERROR, WARNING, Event, EventFinder
from windrow.observe.status import JobStatus
from windrow.storage import Folder

EVENTS = "events"
LOG = logging.getLogger("windrow.events")
# Who asks for no logs is told nothing: events are in the folder.
LOG.addHandler(logging.NullHandler())
# So often a job is looked at between its batches: an outage is told while a batch waits for its end.
LOOK_SECONDS = 1.0
# Of one kind no more is told within a minute; what was left out is counted in the next.
MOST_IN_A_MINUTE = 6
_LEVELS = {WARNING: logging.WARNING, ERROR: logging.ERROR}


class EventWatch:
    """``look`` gives the status without what has to be counted, ``fields`` what a log says of a batch."""

    def __init__(
        self,
        job: str,
        folder: Folder,
        look: Callable[[], JobStatus],
        clock: Callable[[], float] = time.time,
        fields: Callable[[int], Mapping[str, Any]] = lambda _: {},
    ) -> None:
        self._fields = fields
        self._log = LineLog(folder, "events")
        self._look = look
        self._clock = clock
        self._finder = EventFinder(job)
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._told: dict[str, list[float]] = {}
        self._left_out: dict[str, int] = {}

    def begin(self) -> None:
        threading.Thread(target=self._watch, name="windrow-events", daemon=True).start()

    def _watch(self) -> None:
        while not self._is_over.wait(LOOK_SECONDS):
            self.look()

    def look(self) -> None:
        """Also asked after each batch, so that none is passed over. A fault here must not reach the job."""
        try:
            with self._lock:
                for event in self._finder.see(self._look(), self._clock()):
                    self._tell(event)
        except Exception as error:
            self._log.tell_failure(f"{type(error).__name__}: {error}")

    def tell(self, event: Event) -> None:
        """Something that no status shows."""
        with self._lock:
            self._tell(event)

    def close(self) -> None:
        self._is_over.set()
        self.look()
        self._log.flush()

    def _tell(self, event: Event) -> None:
        recent = [at for at in self._told.get(event.type, []) if event.at - at < 60]
        if len(recent) >= MOST_IN_A_MINUTE:
            self._left_out[event.type] = self._left_out.get(event.type, 0) + 1
            return
        self._told[event.type] = [*recent, event.at]
        told = event.to_json()
        if more := self._left_out.pop(event.type, 0):
            told["details"] = {**told["details"], "more": more}
        self._log.add(told)
        fields = {**self._fields(event.batch_id), "event_type": event.type, "job": event.job, "context": told["details"]}
        LOG.log(_LEVELS.get(event.level, logging.INFO), "%s: %s", event.job, event.message, extra={"windrow": fields})


class EventReader:
    """The events of a job's folder, oldest first, and then those that come."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder.child(EVENTS)
        self._seen: dict[str, int] = {}

    def more(self) -> Iterator[dict[str, Any]]:
        """What was written since the last time."""
        for name in line_files(self._folder):
            data = self._folder.read(name)
            # A line that is being written is taken when it is whole.
            whole = data[: data.rfind(b"\n") + 1]
            yield from (told for told in lines_of(whole[self._seen.get(name, 0) :]) if "type" in told)
            self._seen[name] = len(whole)
