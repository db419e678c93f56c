"""Running things: a plan's jobs as streaming queries with durable state, started, watched and stopped.

Takes a compiled file and run options; gives handles with status. Commit order of a batch: sinks, dead letters, state, then
Spark's own commit. Must not know: the command line.

What it gives is imported when it is asked for: the options of a run are read by checks too, which must not wait for Spark's library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from windrow.jobs.handle import Jobs
    from windrow.jobs.options import RunOptions
    from windrow.jobs.runner import start

__all__ = ["Jobs", "RunOptions", "start"]
_MODULES = {"Jobs": "handle", "RunOptions": "options", "start": "runner"}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(f"windrow.jobs.{_MODULES[name]}"), name)
