"""What a caller holds of the jobs that it started: their status, their rows, and the way to end them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from windrow.errors import UsageError
from windrow.jobs.notebook import JobsText, Watching
from windrow.jobs.rows import Rows
from windrow.observe.status import JobStatus
from windrow.serving import Serving
from windrow.spark.internals.java_process import stop_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from windrow.jobs.runner import RunningJob

# How often somebody who waits sees how it goes on.
GLANCE = 0.5


class Jobs:
    """The running jobs of one file."""

    def __init__(self, jobs: list[RunningJob], own_session: SparkSession | None, serving: Serving | None = None) -> None:
        self._jobs = jobs
        self._own_session = own_session
        self._serving = serving

    @property
    def address(self) -> str | None:
        """Where the jobs answer over HTTP; None if they were not to listen."""
        return None if self._serving is None else self._serving.address

    @staticmethod
    def together(parts: Sequence[Jobs]) -> Jobs:
        """The jobs of several files as one; who started them ends the session."""
        return Jobs([job for part in parts for job in part._jobs], None)

    def status(self, *, is_deep: bool = False) -> list[JobStatus]:
        """``is_deep`` asks Spark too: for what sources have not read yet, and for the memory of the Java process."""
        return [job.status(is_deep=is_deep) for job in self._jobs]

    @property
    def is_active(self) -> bool:
        return any(job.is_active for job in self._jobs)

    def await_end(self, timeout: float | None = None, *, show: bool | None = False) -> bool:
        """Wait until all jobs have ended. True when they have; raises what a job failed with.

        ``show`` draws how they go on meanwhile: None does so in a notebook and on a terminal only.
        """
        watching = Watching(show)
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            while watching.is_shown and self.is_active and (deadline is None or time.monotonic() < deadline):
                watching.show(self.status())
                self._jobs[0].await_finished(GLANCE if deadline is None else max(0.0, min(GLANCE, deadline - time.monotonic())))
        finally:
            watching.show(self.status(), is_last=True)
        return self._await_end(deadline)

    def _await_end(self, deadline: float | None) -> bool:
        for job in self._jobs:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not job.await_end(left):
                return False
        self._close()
        return True

    def stop(self) -> None:
        """Let each job finish the batch it is in, then stop it."""
        for job in self._jobs:
            job.stop()
        self._close()

    def _close(self) -> None:
        if self._serving is not None and not self.is_active:
            self._serving.close()
        if self._own_session is not None and not self.is_active:
            stop_session(self._own_session)
            self._own_session = None

    @property
    def outputs(self) -> list[str]:
        """The statements whose rows leave a job, by name."""
        return [write.input for job in self._jobs for write in job.job.writes]

    def output(self, name: str | None = None, *, up_to: int | None = None) -> Rows:
        """The rows that a statement has given by now, where rows are kept (``run(keep=...)``); without a name, those of the last one.

        ``up_to`` is the last batch that is asked for.
        """
        found = [(job, write) for job in self._jobs for write in job.job.writes if name is None or write.input.lower() == name.lower()]
        if not found:
            known = ", ".join(self.outputs)
            raise UsageError("WR641", f'no statement "{name}" has an output here', f"there are: {known}" if known else "add a SELECT")
        job, write = found[-1]
        return job.rows_of(write, up_to)

    def preview(self, name: str | None = None, rows: int = 10) -> Rows:
        """The newest rows of a statement."""
        return self.output(name).tail(rows)

    def __repr__(self) -> str:
        return repr(JobsText(self.status()))

    def _repr_html_(self) -> str:
        return JobsText(self.status())._repr_html_()

    def query(self, job: str) -> StreamingQuery:
        """Spark's own query behind a job, for its progress and its listeners."""
        query = next(one.query for one in self._jobs if one.job.name == job)
        assert query is not None, "a job of this kind has started"
        return query

    def state_folder(self, job: str) -> str:
        return next(one.folder.path for one in self._jobs if one.job.name == job)
