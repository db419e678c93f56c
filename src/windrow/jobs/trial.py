"""A new version is watched while it commits its first batches; only then is the switch final."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from windrow.compiler import Compiled
from windrow.errors import WindrowError
from windrow.jobs.checkpoint import Checkpoint
from windrow.jobs.handle import GLANCE
from windrow.jobs.options import RunOptions
from windrow.jobs.runner import start
from windrow.jobs.state_folder import job_folder
from windrow.jobs.switching import JobSwitch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMMITS = 3
SECONDS = 60.0


def prove(
    switches: Sequence[JobSwitch],
    compiled: Compiled,
    options: RunOptions,
    *,
    spark: SparkSession | None = None,
    seconds: float = SECONDS,
    tell: Callable[[str, int], None] = lambda _job, _commits: None,
    who: str = "",
) -> dict[str, int]:
    """Watch versions that have just been applied: they are final when they work, and gone when they do not. Gives the commits by job."""
    try:
        seen = watch(compiled, options, spark=spark, seconds=seconds, tell=tell)
    except WindrowError as error:
        for switch in switches:
            switch.rollback(message=f"the new version failed: {error.code}", who=who)
        raise
    for switch in switches:
        switch.finalise()
    return seen


def watch(
    compiled: Compiled,
    options: RunOptions,
    *,
    spark: SparkSession | None = None,
    commits: int = COMMITS,
    seconds: float = SECONDS,
    tell: Callable[[str, int], None] = lambda _job, _commits: None,
) -> dict[str, int]:
    """Run the jobs until each has committed so many batches, or for so long where there are not so many rows to read.

    Gives the number of commits by job. Raises what a job failed with; all of them are stopped then, at the end of a batch.
    """
    folders = {job.name: job_folder(options.state, job.name) for job in compiled.plan.jobs}
    before = {name: Checkpoint(folder).last_committed() for name, folder in folders.items()}
    done = dict.fromkeys(folders, 0)
    jobs = start(compiled, replace(options, mode="continuous"), spark)
    deadline = time.monotonic() + seconds
    try:
        while min(done.values()) < commits and time.monotonic() < deadline:
            if jobs.await_end(GLANCE):
                break
            for name, folder in folders.items():
                now = Checkpoint(folder).last_committed() - before[name]
                if now != done[name]:
                    done[name] = now
                    tell(name, now)
    finally:
        jobs.stop()
    return {name: Checkpoint(folder).last_committed() - before[name] for name, folder in folders.items()}
