"""Runs a job to its end, and kills its own process at one step of one batch's commit: ``python fault_job.py SQL STATE POINT BATCH``.

Points are the moments between two durable writes. They are put in from outside, so that the product carries none of this.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import windrow
from windrow.connectors.files.sink import FileSink
from windrow.jobs.output_writers import DroppingWriter, FailoverWriter
from windrow.jobs.runner import RunningJob
from windrow.jobs.spill import SpillFolder
from windrow.spark.state.executor_state import ExecutorState
from windrow.spark.state.state_store import StateStore
from windrow.storage import LocalFolder
from windrow.storage.hadoop import HadoopFolder

POINTS = {
    "before the sinks": (RunningJob, "_commit", "before"),
    "between two sinks": (FileSink, "write", "after"),
    "before the dead letters": (LocalFolder, "replace_atomically", "before"),
    "before the change file": (StateStore, "save", "before"),
    "after the change file": (StateStore, "save", "after"),
    "after the snapshot": (StateStore, "snapshot", "after"),
    "before Spark's commit": (RunningJob, "_commit", "after"),
}
BUCKET_POINTS = {
    "rows are in their buckets": (ExecutorState, "gather", "after"),
    "every bucket has stepped": (ExecutorState, "step", "after"),
}
OUTAGE_POINTS = {
    "before rows are spilled": (SpillFolder, "put", "before"),
    "after rows are spilled": (SpillFolder, "put", "after"),
    "rows are delivered, nothing is noted": (SpillFolder, "remove", "before"),
    "delivery is noted, the file is there": (SpillFolder, "_mark", "after"),
    "the other way is not noted yet": (SpillFolder, "note_elsewhere", "before"),
    "the other way is noted": (SpillFolder, "note_elsewhere", "after"),
    "rows went to the other output": (FailoverWriter, "write", "after"),
    "before rows are dropped": (DroppingWriter, "write", "before"),
    "after rows are dropped": (DroppingWriter, "write", "after"),
}


def _die(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(point: str, batch: int) -> None:
    """Make the process die when it comes to this point in this batch."""
    owner, name, when = {**POINTS, **BUCKET_POINTS, **OUTAGE_POINTS}[point]
    current = {"batch": -1}
    take: Callable[..., Any] = RunningJob._take
    original: Callable[..., Any] = getattr(owner, name)

    def noted(self: Any, frame: Any, batch_id: int) -> None:
        current["batch"] = batch_id
        take(self, frame, batch_id)

    def faulty(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_now = current["batch"] >= batch and _is_meant(point, args)
        if is_now and when == "before":
            _die()
        result = original(self, *args, **kwargs)
        if is_now:
            _die()
        return result

    RunningJob._take = noted  # type: ignore[method-assign]
    setattr(owner, name, faulty)
    if owner is LocalFolder:
        beyond: Callable[..., Any] = HadoopFolder.replace_atomically

        def faulty_beyond(self: Any, *args: Any, **kwargs: Any) -> Any:
            if current["batch"] >= batch and _is_meant(point, args):
                _die()
            return beyond(self, *args, **kwargs)

        HadoopFolder.replace_atomically = faulty_beyond  # type: ignore[method-assign]


def _is_meant(point: str, args: tuple[Any, ...]) -> bool:
    return point != "before the dead letters" or str(args[0]).startswith("batch-")


def main() -> None:
    sql, state, home, point, batch = sys.argv[1:6]
    if point != "none":
        arm(point, int(batch))
    settings = {"state.snapshot.every": "2", "state.home": home, "state.buckets": "2"}
    jobs = windrow.run(Path(sql).read_text(), mode="until_end", state=state, master="local[2]", settings=settings)
    jobs.await_end()
    assert jobs.status()[0].ledger.is_balanced


if __name__ == "__main__":
    main()
