"""What the Python of Spark's workers has, found out before a batch depends on it.

On a local master that is the program that Spark starts for its workers, which is asked directly. On a cluster each executor is asked by
a task of its own, and one that comes later when it has come. Workers may lack everything of ours, so what they run travels with the
question: what runs there imports nothing of Windrow.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from windrow.spark.internals.executors import await_executor, executor_ids, hosts_of, is_cluster_master, job_group, python_tasks, ran_on
from windrow.spark.internals.java_errors import may_be_misfit
from windrow.spark.internals.lost_executors import refuse_if_lost

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = logging.getLogger("windrow.spark")
ASKED_FOR = ("pyarrow", "polars", "windrow")
# A cluster that is starting its executors takes its time; one without a free core never answers.
ANSWER_TIMEOUT = 120.0
# After so long somebody who watches is told what is waited for.
_QUIET = 15.0
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
_PLACE = re.compile(r"\(TID \d+\) \((\S+) executor \S+?\)")
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
    # No executor has come at all, which may change.
    is_away: bool = False
    asked_for: frozenset[str] = frozenset(ASKED_FOR)


# By application and program, then by executor; all that could be asked as one where they cannot be told apart.
_FOUND: dict[tuple[str, str], dict[str, WorkerPython]] = {}
_ASKING = threading.Lock()
HERE = "this machine"
_TOGETHER = "every executor"


def worker_pythons(spark: SparkSession, modules: tuple[str, ...] = ASKED_FOR) -> tuple[WorkerPython, ...]:
    """One for each executor that is there; each is asked once, and once more for other modules."""
    names = tuple(dict.fromkeys((*ASKED_FOR, *modules)))
    context: Any = spark.sparkContext
    key = str(context.applicationId), str(context.pythonExec)
    with _ASKING:
        known = _FOUND.setdefault(key, {})
        if not is_cluster_master(context.master or ""):
            if _unasked([HERE], known, names):
                known[HERE] = _here(key[1], names)
            return tuple(known.values())
        return _on_cluster(spark, known, names)


def _unasked(executors: Iterable[str], known: Mapping[str, WorkerPython], names: tuple[str, ...]) -> list[str]:
    return [one for one in executors if one not in known or (known[one].why_not is None and not known[one].asked_for.issuperset(names))]


def lacking(spark: SparkSession, modules: tuple[str, ...]) -> tuple[WorkerPython, ...]:
    """The workers that do not start or lack one of the modules."""
    found = worker_pythons(spark, modules)
    return tuple(one for one in found if one.why_not is not None or set(modules) & set(one.missing))


def _here(program: str, names: tuple[str, ...]) -> WorkerPython:
    """Workers on this machine are started by the same name, and find it in the same way."""
    found = shutil.which(program)
    # An environment's Python is a link to the one that it was made with: what a link leads to says nothing.
    if found is not None and os.path.abspath(found) == sys.executable:
        return WorkerPython(HERE, program, asked_for=frozenset(names))
    if found is None:
        return WorkerPython(HERE, program, why_not="there is no such program")
    try:
        answer = subprocess.run([found, "-c", _ASK, *names], capture_output=True, text=True, timeout=_SECONDS_HERE, check=True)
        told, version, missing = json.loads(answer.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return WorkerPython(HERE, program, why_not=str(error).splitlines()[0])
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if version != own:
        return WorkerPython(HERE, told, version, why_not=f"it is Python {version}, and the driver runs {own}")
    return WorkerPython(HERE, told, version, tuple(missing), asked_for=frozenset(names))


def _asked(names: tuple[str, ...], _rows: Iterator[int]) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Runs in a worker."""
    import importlib
    import socket
    import sys as own

    missing = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    yield socket.gethostname(), own.executable, f"{own.version_info[0]}.{own.version_info[1]}", tuple(missing)


def _on_cluster(spark: SparkSession, known: dict[str, WorkerPython], names: tuple[str, ...]) -> tuple[WorkerPython, ...]:
    """Those of the executors that are there now, after the new ones among them were asked."""
    program = str(spark.sparkContext.pythonExec)
    try:
        there = executor_ids(spark)
    except Exception as error:
        if not may_be_misfit(error):
            raise
        if _unasked([_TOGETHER], known, names):
            known.update(_asked_together(spark, names))
        return tuple(known.values())
    if not there and not _await_first(spark):
        host = spark.conf.get("spark.driver.host", None)
        told = (
            f"no executor has come within {ANSWER_TIMEOUT:g} s; a worker must be free, and reach the driver at {host} (spark.driver.host)"
        )
        return (WorkerPython("the cluster", program, why_not=told, is_away=True),)
    there = executor_ids(spark)
    if new := frozenset(_unasked(there, known, names)):
        known.update(_asked_one_by_one(spark, hosts_of(spark, new), names))
    return tuple(known[one] for one in sorted(there) if one in known)


def _await_first(spark: SparkSession) -> bool:
    if await_executor(spark, min(_QUIET, ANSWER_TIMEOUT)):
        return True
    LOG.warning("waiting for executors: none has come to %s yet", spark.sparkContext.master)
    return await_executor(spark, ANSWER_TIMEOUT - _QUIET)


def _asked_one_by_one(spark: SparkSession, hosts: Mapping[str, str], names: tuple[str, ...]) -> dict[str, WorkerPython]:
    """Spark gives a task to the executor that it names while that one is free; who was not asked is asked once more."""
    left = dict(hosts)
    found: dict[str, WorkerPython] = {}
    for _ in range(3):
        rows, group, refused = _collected(spark, python_tasks(spark, left), names)
        if refused is not None:
            # The same is likely of the others, and asking them takes seconds each.
            return {**found, **dict.fromkeys(left, refused)}
        where = ran_on(spark, group)
        for number, (_, own, version, missing) in enumerate(rows):
            executor = where.get(number, list(left)[number])
            told = WorkerPython(hosts.get(executor, "the cluster"), own, version, missing, asked_for=frozenset(names))
            found[executor] = _judged(told)
        left = {executor: host for executor, host in hosts.items() if executor not in found}
        if not left:
            break
    return found


def _asked_together(spark: SparkSession, names: tuple[str, ...]) -> dict[str, WorkerPython]:
    """Where Spark does not let one name the executors: as many tasks as they have cores."""
    context = spark.sparkContext
    tasks = max(int(context.defaultParallelism), 2)
    rows, _, refused = _collected(spark, context.parallelize(range(tasks), tasks), names)
    if refused is not None:
        return {_TOGETHER: refused}
    found = {
        host: _judged(WorkerPython(host, own, version, missing, asked_for=frozenset(names)))
        for host, own, version, missing in sorted(set(rows))
    }
    return {_TOGETHER if number == 0 else host: one for number, (host, one) in enumerate(found.items())}


def _judged(found: WorkerPython) -> WorkerPython:
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return found if found.version == own else replace(found, why_not=f"it is Python {found.version}, and the driver runs {own}")


def _collected(spark: SparkSession, rdd: Any, names: tuple[str, ...]) -> tuple[list[Any], str, WorkerPython | None]:
    """What the tasks say, the group of their job, and what they failed with: the executor and why."""
    from pyspark.cloudpickle import register_pickle_by_value, unregister_pickle_by_value

    given_up = threading.Event()
    program = str(spark.sparkContext.pythonExec)
    with job_group(spark, "what the Python of the workers has") as group:

        def give_up() -> None:
            given_up.set()
            spark.sparkContext.cancelJobGroup(group)

        module = sys.modules[__name__]
        register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # as pyspark ships it
        watch = threading.Timer(ANSWER_TIMEOUT, give_up)
        watch.daemon = True
        watch.start()
        try:
            return rdd.mapPartitions(partial(_asked, names)).collect(), group, None
        except Exception as error:
            refuse_if_lost(error)
            reason = f"no executor took a task within {ANSWER_TIMEOUT:g} s" if given_up.is_set() else ""
            return [], group, _refused(str(error), program, reason)
        finally:
            watch.cancel()
            unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]


def _refused(text: str, program: str, reason: str) -> WorkerPython:
    """The worker whose task failed, and why.

    >>> _refused('Lost task 0.3 (TID 7) (10.0.0.5 executor 0): java.io.IOException: Cannot run program "/opt/py": error=2', "/opt/py", "")
    WorkerPython(host='10.0.0.5', program='/opt/py', version='', missing=(), why_not='there is no such program', ...)
    """
    host = found[1] if (found := _PLACE.search(text)) is not None else "the cluster"
    if reason:
        return WorkerPython(host, program, why_not=reason)
    if (found := _NO_PROGRAM.search(text)) is not None:
        return WorkerPython(host, found[1], why_not="there is no such program")
    said = _SAID.findall(text)
    lines = [line for line in text.splitlines() if line.strip()]
    return WorkerPython(host, program, why_not=said[-1] if said else lines[0] if lines else "it does not start")
