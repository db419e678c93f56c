"""What the Python of Spark's workers has, found out before a batch depends on it.

On a local master that is the program that Spark starts for its workers, which is asked directly. On a cluster a small job asks the
executors. Workers may lack everything of ours, so what they run travels with the question: this module imports nothing of Windrow.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ASKED_FOR = ("pyarrow", "polars", "windrow")
# A cluster that is starting its executors takes its time; one without a free core never answers.
ANSWER_TIMEOUT = 120.0
_SECONDS_HERE = 60.0
_ASK = """
import json, sys
missing = []
for name in sys.argv[1:]:
    try:
        __import__(name)
    except ImportError:
        missing.append(name)
print(json.dumps([sys.executable, "%d.%d" % sys.version_info[:2], missing]))
"""
_HOST = re.compile(r"\(TID \d+\) \((\S+) executor")
_NO_PROGRAM = re.compile(r'Cannot run program "([^"]+)"')
_SAID = re.compile(r"^(?:\w+\.)*(\w*(?:Error|Exception): .+)$", re.MULTILINE)


@dataclass(frozen=True)
class WorkerPython:
    """The Python of the workers on one machine. Without ``why_not`` it starts; ``missing`` are modules that it does not have."""

    host: str
    program: str
    version: str = ""
    missing: tuple[str, ...] = ()
    why_not: str | None = None


_FOUND: dict[tuple[str, str], tuple[WorkerPython, ...]] = {}
_ASKING = threading.Lock()


def worker_pythons(spark: SparkSession) -> tuple[WorkerPython, ...]:
    """One for each machine that answered; asked once for a Spark application."""
    context: Any = spark.sparkContext
    key = str(context.applicationId), str(context.pythonExec)
    with _ASKING:
        if key not in _FOUND:
            _FOUND[key] = (_here(key[1]),) if _is_local(context) else _on_cluster(context)
        return _FOUND[key]


def lacking(spark: SparkSession, modules: tuple[str, ...]) -> tuple[WorkerPython, ...]:
    """The workers that do not start or lack one of the modules."""
    found = worker_pythons(spark)
    return tuple(one for one in found if one.why_not is not None or set(modules) & set(one.missing))


def _is_local(context: Any) -> bool:
    master = context.master or ""
    return master == "local" or master.startswith("local[")


def _here(program: str) -> WorkerPython:
    """Workers on this machine are started by the same name, and find it in the same way."""
    found = shutil.which(program)
    # An environment's Python is a link to the one that it was made with: what a link leads to says nothing.
    if found is not None and os.path.abspath(found) == sys.executable:
        return WorkerPython("this machine", program)
    if found is None:
        return WorkerPython("this machine", program, why_not="there is no such program")
    try:
        answer = subprocess.run([found, "-c", _ASK, *ASKED_FOR], capture_output=True, text=True, timeout=_SECONDS_HERE, check=True)
        told, version, missing = json.loads(answer.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return WorkerPython("this machine", program, why_not=str(error).splitlines()[0])
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if version != own:
        return WorkerPython("this machine", told, version, why_not=f"it is Python {version}, and the driver runs {own}")
    return WorkerPython("this machine", told, version, tuple(missing))


def _asked(_rows: Iterator[int]) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Runs in a worker."""
    import importlib
    import socket
    import sys as own

    missing = []
    for name in ("pyarrow", "polars", "windrow"):
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    yield socket.gethostname(), own.executable, f"{own.version_info[0]}.{own.version_info[1]}", tuple(missing)


def _on_cluster(context: Any) -> tuple[WorkerPython, ...]:
    from pyspark.cloudpickle import register_pickle_by_value, unregister_pickle_by_value

    group = f"windrow-workers-{uuid.uuid4().hex}"
    tasks = max(int(context.defaultParallelism), 2)
    given_up = threading.Event()

    def give_up() -> None:
        given_up.set()
        context.cancelJobGroup(group)

    module = sys.modules[__name__]
    register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # as pyspark ships it
    watch = threading.Timer(ANSWER_TIMEOUT, give_up)
    watch.daemon = True
    watch.start()
    try:
        context.setJobGroup(group, "what the Python of the workers has", True)
        rows = context.parallelize(range(tasks), tasks).mapPartitions(_asked).collect()
    except Exception as error:
        reason = f"no executor took a task within {ANSWER_TIMEOUT:g} s" if given_up.is_set() else ""
        return (_refused(str(error), str(context.pythonExec), reason),)
    finally:
        watch.cancel()
        context.setLocalProperty("spark.jobGroup.id", None)
        context.setLocalProperty("spark.job.description", None)
        unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]
    return tuple(WorkerPython(host, program, version, missing) for host, program, version, missing in sorted(set(rows)))


def _refused(text: str, program: str, reason: str) -> WorkerPython:
    """
    >>> _refused('Lost task 0.3 (TID 7) (10.0.0.5 executor 0): java.io.IOException: Cannot run program "/opt/py": error=2', "/opt/py", "")
    WorkerPython(host='10.0.0.5', program='/opt/py', version='', missing=(), why_not='there is no such program')
    """
    host = found[1] if (found := _HOST.search(text)) is not None else "the cluster"
    if reason:
        return WorkerPython(host, program, why_not=reason)
    if (found := _NO_PROGRAM.search(text)) is not None:
        return WorkerPython(host, found[1], why_not="there is no such program")
    said = _SAID.findall(text)
    lines = [line for line in text.splitlines() if line.strip()]
    return WorkerPython(host, program, why_not=said[-1] if said else lines[0] if lines else "it does not start")
