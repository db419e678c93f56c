"""Spark's Java process: how it is started, and how one learns that it has ended before the job did."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from windrow.errors import SparkLostError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark import SparkConf
    from pyspark.sql import SparkSession

CODE = "WR854"
# Between the first sign that Java is ending and its end lie Spark's own shutdown hooks.
END_SECONDS = 30.0
# What a call or a task fails with when the Java process, or the workers that it has started, are going away.
_SIGNS = (
    "SparkContext was shut down",
    "stopped SparkContext",
    "SparkContext has been shutdown",
    "Python worker exited unexpectedly",
    "Connection reset",
    "Broken pipe",
    "Answer from Java side is empty",
    "Error while sending",
    "Error while receiving",
    "Shutdown in progress",
    "Error communicating with",
)


def launch_jvm(conf: SparkConf, folder: Path | None = None) -> None:
    """Start the Java process in a session of its own, unless there is one, and in a folder, where one is named.

    A terminal, ``timeout`` and a shell signal a whole process group. Java must outlive that for as long as the batch under way
    needs it; it ends when the pipe to its standard input closes, so it never outlives this process.
    """
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None or os.name != "posix":
        return
    wishes = {"start_new_session": True, **({"cwd": str(folder)} if folder is not None else {})}
    gateway = launch_gateway(conf, wishes)  # type: ignore[no-untyped-call]  # of pyspark
    SparkContext._ensure_initialized(gateway=gateway, conf=conf)


class JavaProcess:
    """The process behind a session. A session that was handed over by ``spark-submit`` has none that we could watch."""

    def __init__(self, process: subprocess.Popen[bytes] | None, spark: SparkSession | None = None) -> None:
        self._process = process
        self._spark = spark

    @classmethod
    def of(cls, spark: SparkSession) -> JavaProcess:
        # A gateway answers to every name, with a method of Java's; what was set here is among its own.
        return cls(vars(spark.sparkContext._gateway).get("proc"), spark)

    def has_ended(self, within: float = 0.0) -> bool:
        if self._process is None:
            return False
        try:
            self._process.wait(within)
        except subprocess.TimeoutExpired:
            return False
        return True

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def end(self) -> None:
        """Let it end by itself, as it does when this process is gone."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def is_cause_of(self, error: BaseException) -> bool:
        """Whether a failure came from the end of the process, which may take a moment yet."""
        return self.has_ended() or (_is_sign(error) and self.has_ended(END_SECONDS))

    def loss(self, error: BaseException, job: str) -> SparkLostError | None:
        """What a failure means if it came from the end of the Java process; None if it did not."""
        if not self.is_cause_of(error) and not (self._has_stopped_spark() and self.has_ended(END_SECONDS)):
            return None
        return SparkLostError(CODE, f"job {job} stopped: Spark's Java process {self._end()}", self._hint())

    def _has_stopped_spark(self) -> bool:
        """Whether Spark's shutdown hook has begun: until it is done, a batch may fail at any part of Spark that is gone by then."""
        if self._process is None or self._spark is None:
            return False
        try:
            return bool(self._spark.sparkContext._jsc.sc().isStopped())
        except Exception:
            # Java that does not answer is ending, or has ended.
            return True

    def _end(self) -> str:
        code = self._process.returncode if self._process is not None else 0
        # Java answers these signals by an exit of its own, with the code that a shell would show.
        number = -code if code < 0 else code - 128
        try:
            return f"was ended from outside ({signal.Signals(number).name})"
        except ValueError:
            return f"ended by itself (exit code {code})"

    def _hint(self) -> str:
        killed = self._process is not None and self._process.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)
        cause = "; a system that is short of memory kills so: --set spark.driver.memory=1g takes less" if killed else ""
        return f"run the same command again: the batch under way was given up as a whole, and nothing is lost{cause}"


def _is_sign(error: BaseException) -> bool:
    from py4j.protocol import Py4JNetworkError  # type: ignore[import-untyped]  # ships no types

    if isinstance(error, Py4JNetworkError | ConnectionError | EOFError):
        return True
    try:
        text = str(error)
    except Exception:
        # The text of an exception of Java's is asked of Java, which does not answer any more.
        return True
    # Py4J says no more than this when the answer to a call did not come.
    lines = text.strip().splitlines()
    return any(sign in text for sign in _SIGNS) or (len(lines) == 1 and lines[0].startswith("An error occurred while calling"))


class _LostCalls(logging.Filter):
    """Drops what Py4J logs, with its stack, of every call that a process which has ended can no longer answer."""

    def __init__(self, java: JavaProcess) -> None:
        super().__init__()
        self._java = java

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        is_of_py4j = record.name.startswith("py4j") or os.sep + "py4j" + os.sep in record.pathname
        return not (is_of_py4j and error is not None and self._java.is_cause_of(error))


_muted: set[int] = set()


def mute_lost_calls(spark: SparkSession) -> None:
    """The end of the Java process is told by our own error alone. What Py4J logs while the process lives still shows."""
    gateway = spark.sparkContext._gateway
    if gateway is None or id(gateway) in _muted:
        return
    java = JavaProcess.of(spark)
    for name in ("root", "py4j.clientserver", "py4j.java_gateway"):
        logging.getLogger(name).addFilter(_LostCalls(java))
    _mute_server(getattr(spark.sparkContext, "_accumulatorServer", None), java)
    _muted.add(id(gateway))


def _mute_server(server: Any, java: JavaProcess) -> None:
    """Java sends the counts of finished tasks to a server in this process, which prints a stack when that ends."""
    if server is None:
        return
    show = server.handle_error

    def handle_error(request: Any, address: Any) -> None:
        error = sys.exc_info()[1]
        if error is None or not java.is_cause_of(error):
            show(request, address)

    server.handle_error = handle_error


def stop_session(spark: Any) -> None:
    """End a session of our own. Of one whose Java process is gone nothing is left to be stopped but what Python remembers."""
    from pyspark import SparkContext

    java = JavaProcess.of(spark)
    if not java.has_ended():
        try:
            spark.stop()
            return
        except Exception as error:
            if not java.is_cause_of(error):
                raise
    with SparkContext._lock:
        SparkContext._active_spark_context = None
        SparkContext._gateway = None
        SparkContext._jvm = None
    type(spark)._instantiatedSession = None
