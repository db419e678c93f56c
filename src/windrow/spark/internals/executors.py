"""The executors of a cluster, by their ids, and tasks that each run on one of them.

Spark gives a task to whichever executor is free, so a question to all of them is answered twice by some and by others never. A partition
may name the executor that it wants to run on; Spark keeps to that while the executor is free, and tells afterwards where it ran.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_GLANCE = 0.1
_DRIVER = "driver"
_MOST_TASKS = 1_000_000
_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


def is_cluster(spark: SparkSession) -> bool:
    """Whether tasks run on other machines than the driver's own, for all that one can know here."""
    return is_cluster_master(spark.sparkContext.master or "")


def is_cluster_master(master: str) -> bool:
    """
    >>> [is_cluster_master(master) for master in ("local[*]", "local", "spark://a:7077", "yarn", "local-cluster[2,1,1024]")]
    [False, False, True, True, True]
    """
    return master != "local" and not master.startswith("local[")


def executor_ids(spark: SparkSession) -> frozenset[str]:
    """Those that are registered now. A call of a tenth of a millisecond."""
    found = _context(spark).getExecutorIds()
    return frozenset(str(found.apply(number)) for number in range(found.size()))


def await_executor(spark: SparkSession, seconds: float, has_ended: Callable[[], bool] = lambda: False) -> bool:
    """Whether one has registered within the time."""
    deadline = time.monotonic() + seconds
    while not executor_ids(spark):
        if time.monotonic() > deadline or has_ended():
            return False
        time.sleep(_GLANCE)
    return True


def hosts_of(spark: SparkSession, ids: frozenset[str]) -> dict[str, str]:
    """The machine of each, as the driver reaches it. One that has gone meanwhile is left out."""
    listed = _context(spark).statusStore().executorList(True)
    found = [listed.apply(number) for number in range(listed.size())]
    return {str(one.id()): str(one.hostPort()).rpartition(":")[0] for one in found if str(one.id()) in ids}


def located(spark: SparkSession, hosts: dict[str, str]) -> Any:
    """An RDD of Java's with a partition for each executor, in their order, which wants to run there. Its elements are their ids."""
    context, jvm = spark.sparkContext, _jvm(spark)
    pairs = jvm.java.util.ArrayList()
    as_seq = jvm.org.apache.spark.api.python.PythonUtils.toSeq
    for executor, host in hosts.items():
        wanted = jvm.java.util.ArrayList()
        wanted.add(f"executor_{host}_{executor}")
        pairs.add(jvm.scala.Tuple2(bytearray(executor.encode()), as_seq(wanted)))
    return _context(context).makeRDD(as_seq(pairs), jvm.scala.reflect.ClassTag.Any()).toJavaRDD()


def python_tasks(spark: SparkSession, hosts: dict[str, str]) -> Any:
    """An RDD of Python's with a partition for each executor, which wants to run there; with one where none is named."""
    if not hosts:
        return spark.sparkContext.parallelize([b""], 1)
    from pyspark import RDD
    from pyspark.serializers import NoOpSerializer

    context: Any = spark.sparkContext
    return RDD(located(spark, hosts), context, NoOpSerializer())


def ran_on(spark: SparkSession, group: str) -> dict[int, str]:
    """Which executor finished the task of each partition of the jobs of a group."""
    with suppress(Exception):
        # It raises where others keep it busy; what it does not know is then left out.
        _context(spark).listenerBus().waitUntilEmpty()
    tracker, store = _context(spark).statusTracker(), _context(spark).statusStore()
    found: dict[int, str] = {}
    for job in tracker.getJobIdsForGroup(group):
        told = tracker.getJobInfo(job)
        for stage in () if told.isEmpty() else told.get().stageIds():
            tasks = store.taskList(stage, 0, _MOST_TASKS)
            for task in (tasks.apply(number) for number in range(tasks.size())):
                if str(task.status()) == "SUCCESS":
                    found[int(task.index())] = str(task.executorId())
    return found


def texts_read_by_each(spark: SparkSession, uri: str, hosts: dict[str, str]) -> list[str]:
    """A text file of one line, read on each of the executors, without any Python there. Raises what the task of one fails with."""
    java: Any = spark.sparkContext._jsc
    once = java.textFile(uri, 1)
    times = once
    for _ in range(len(hosts) - 1):
        times = times.union(once)
    return [str(pair._1()) for pair in times.zip(located(spark, hosts)).collect()]


@contextmanager
def job_group(spark: SparkSession, what: str) -> Iterator[str]:
    """Jobs of Spark's under a name of their own, by which they can be cancelled; gives it. A batch has its own name back afterwards."""
    context = spark.sparkContext
    before = {key: context.getLocalProperty(key) for key in _GROUP}
    group = f"windrow-{uuid.uuid4().hex}"
    context.setJobGroup(group, what, True)
    try:
        yield group
    finally:
        for key, value in before.items():
            context.setLocalProperty(key, value)  # type: ignore[arg-type]  # None takes it away


def _context(spark: Any) -> Any:
    context = getattr(spark, "sparkContext", spark)
    return context._jsc.sc()


def _jvm(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm
