"""Starting Spark without a word of its own on the user's terminal. What it says goes to a log that errors point to."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from windrow.cli import codes


def start_spark(master: str, settings: Mapping[str, str] | None = None, log: Path | None = None) -> Any:
    """A SparkSession whose own output, for as long as it lives, goes to ``log`` (a temporary file where none is given)."""
    from windrow.errors import JobError, WindrowError
    from windrow.settings import load_settings
    from windrow.spark.session import make_session

    if load_settings().debug:
        return make_session(master, settings)
    target = log or _temporary_log()
    try:
        with _output_to(target), _interrupts_held_back():
            session = make_session(master, settings)
    except WindrowError:
        raise
    except Exception as error:
        raise JobError(codes.NO_SPARK, f"Spark does not start: {_reason(error)}", f"see {target}") from error
    if log is None:
        # Spark goes on writing to it; the disk space is given back when it ends.
        target.unlink(missing_ok=True)
    return session


def _reason(error: Exception) -> str:
    """What Java says, after the line that only names the call that failed.

    >>> _reason(RuntimeError("An error occurred while calling None.JavaSparkContext.\\n: java.io.IOException: no room\\n\\tat a.B"))
    'java.io.IOException: no room'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = next((line[2:] for line in lines if line.startswith(": ")), None)
    return told or (lines[0] if lines else type(error).__name__)


def _temporary_log() -> Path:
    handle, name = tempfile.mkstemp(prefix="windrow-spark-", suffix=".log")
    os.close(handle)
    return Path(name)


@contextmanager
def _output_to(target: Path) -> Iterator[None]:
    """Standard output and error of this process, and of those it starts meanwhile, go to a file: the JVM keeps it as its own."""
    sys.stdout.flush()
    sys.stderr.flush()
    with target.open("ab") as file:
        kept = [(number, os.dup(number)) for number in (1, 2)]
        try:
            for number, _ in kept:
                os.dup2(file.fileno(), number)
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            for number, copy in kept:
                os.dup2(copy, number)
                os.close(copy)


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Processes started meanwhile never see Ctrl-C, which a terminal sends to all of them.

    Spark's Python workers restore its handler and would break the batch that a clean stop wants to finish; a signal that is
    blocked stays so for children.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
