"""A running job that is asked to stop through its folder: by whoever wants the folder for a change of the text.

A wish names the driver that it is meant for, so one that is left over stops no later run.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable

from windrow.storage import Folder, StorageError
from windrow.storage.lease import holder_of

WISH = "stop.json"
# How often a job looks for one; on an object store a look is a request.
_LOOK_SECONDS, _LOOK_ELSEWHERE = 1.0, 10.0
# How long is waited for the batch under way.
STOP_SECONDS = 600.0
_GLANCE = 0.2
LOG = logging.getLogger(__name__)


class StopWatch:
    """Looks for a wish to stop while a job runs. ``stop`` is called once, in a thread of its own."""

    def __init__(self, folder: Folder, job: str, owner: str, stop: Callable[[], None], look_seconds: float | None = None) -> None:
        self._folder, self._job, self._owner, self._stop = folder, job, owner, stop
        self._seconds = look_seconds or (_LOOK_SECONDS if folder.is_local else _LOOK_ELSEWHERE)
        self._is_over = threading.Event()

    def begin(self) -> None:
        threading.Thread(target=self._watch, name=f"windrow-stop-{self._job}", daemon=True).start()

    def close(self) -> None:
        self._is_over.set()

    def _watch(self) -> None:
        while not self._is_over.wait(self._seconds):
            by = self._asked_by()
            if by is not None:
                LOG.warning("job %s stops after its batch: %s asked for it", self._job, by)
                self._stop()
                return

    def _asked_by(self) -> str | None:
        """A wish that cannot be read now is looked for again."""
        try:
            wish = json.loads(self._folder.read(WISH)) if self._folder.exists(WISH) else {}
        except (StorageError, ValueError):
            return None
        return str(wish["by"]) if wish.get("owner") == self._owner else None


def stop_running(folder: Folder, by: str, *, tell: Callable[[str], None] = lambda _: None, seconds: float = STOP_SECONDS) -> bool:
    """Ask whoever runs a job to stop at a batch's end, and wait for it. False where nobody runs it, or where it does not stop."""
    holder = holder_of(folder)
    if holder is None:
        return False
    tell(holder.who)
    folder.replace_atomically(WISH, json.dumps({"owner": holder.owner, "by": by}).encode())
    deadline = time.monotonic() + seconds
    try:
        while (now := holder_of(folder)) is not None and now.owner == holder.owner:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_GLANCE)
        return True
    finally:
        folder.remove(WISH)
