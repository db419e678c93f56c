"""Running things: a plan's jobs as streaming queries with durable state, started, watched and stopped.

Takes a compiled file and run options; gives handles with status. Commit order of a batch: sinks, dead letters, state, then
Spark's own commit. Must not know: the command line.
"""

from windrow.jobs.handle import Jobs
from windrow.jobs.options import RunOptions
from windrow.jobs.runner import start

__all__ = ["Jobs", "RunOptions", "start"]
