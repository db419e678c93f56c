"""What a job needs of the Python of Spark's workers, compared with what they have before the first batch."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.connectors.registry import CONNECTORS
from windrow.errors import OutageError, UsageError, WindrowError
from windrow.jobs.worker_reach import unreached
from windrow.model.policies import StateBackendSetting
from windrow.plan.stages import Job
from windrow.spark.compile.python_functions import packages_of
from windrow.spark.internals.executors import executor_ids, is_cluster
from windrow.spark.internals.lost_executors import LOST
from windrow.spark.internals.shared_folders import not_shared
from windrow.spark.internals.workers import HERE, WorkerPython, lacking
from windrow.storage import Files, Folder, NotForWorkers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = logging.getLogger("windrow.spark")
STATE_MODULES = ("pyarrow", "polars", "windrow")
_SHIP = "ship one with the job: windrow run --pack $(windrow pack)"
_LACKS, _STARTS_NOT, _NOT_REACHED = "WR608", "WR609", "WR806"


@dataclass(frozen=True)
class Need:
    what: str
    modules: tuple[str, ...]


_DECODING = Need("decoding JSON", ("pyarrow",))


class WorkerNeeds:
    """What the Python parts of jobs need, asked of every executor: before the first batch, and of those that come later before the next."""

    def __init__(self, spark: SparkSession, jobs: Sequence[Job], backend: StateBackendSetting) -> None:
        self._spark = spark
        self._backend = backend
        self._needs = [need for job in jobs for need in _needs(job, backend)]
        self._decodes = any(CONNECTORS[read.connector].source_shape(dict(read.options)).text_format for job in jobs for read in job.reads)
        self._is_cluster = is_cluster(spark)
        self._asked: frozenset[str] | None = None
        # Once executors may hold state: the folder that all of them share.
        self._shared: Folder | None = None
        # Folders elsewhere that executors have written to.
        self._reached: set[str] = set()

    def check(self) -> None:
        """Refuse a job whose Python parts cannot run where its rows are. Decoding of JSON has another way, which is chosen once."""
        there = executor_ids(self._spark) if self._is_cluster else frozenset()
        if self._asked is not None and there <= self._asked:
            return
        for need in self._needs:
            short = lacking(self._spark, need.modules)
            if short:
                raise _refusal(need, short[0])
        if self._is_cluster:
            if self._asked is None and self._decodes and not lacking(self._spark, _DECODING.modules):
                self._needs.append(_DECODING)
            if self._shared is not None and (found := not_shared(self._spark, self._shared.path)) is not None:
                raise _not_reached(found.told(self._shared.path))
            there = executor_ids(self._spark)
        self._asked = there

    def state_files(self, folder: Folder) -> Files | None:
        """The folder as executors reach it, where state may live with them: they write their share of it themselves.

        Where it was asked for and cannot be, it is refused; otherwise it stays in the driver, which is None.
        """
        files = folder.for_workers()
        if isinstance(files, NotForWorkers):
            if self._backend is StateBackendSetting.DISTRIBUTED:
                raise _not_reached(f"{folder.path} is none: {files.reason}")
            return None
        # What has moved there once is still there.
        why_not = None if self._backend is StateBackendSetting.RESIDENT else self._why_not(folder, files)
        if why_not is None:
            return files
        if self._backend is StateBackendSetting.DISTRIBUTED:
            raise _not_reached(why_not)
        LOG.warning("state stays in the driver: %s", why_not)
        return None

    def _why_not(self, folder: Folder, files: Files) -> str | None:
        """What keeps executors from holding state in a folder. Which Python they need was asked before, where it was asked for."""
        found = not_shared(self._spark, folder.path) if folder.is_local else None
        if found is not None:
            return found.told(folder.path)
        short = () if self._backend is StateBackendSetting.DISTRIBUTED else lacking(self._spark, STATE_MODULES)
        if short:
            return _told(short[0], STATE_MODULES)
        if folder.is_local:
            self._shared = folder
            return None
        if folder.path not in self._reached and (why_not := unreached(self._spark, folder, files)) is not None:
            return why_not
        self._reached.add(folder.path)
        return None


def _not_reached(why_not: str) -> UsageError:
    hint = "choose a folder that all machines mount, or one on HDFS or S3, with --state; or --set state.home=resident"
    return UsageError(_NOT_REACHED, f"state on the executors needs a folder that all of them can write; {why_not}", hint)


def _needs(job: Job, backend: StateBackendSetting) -> Iterator[Need]:
    for read in job.reads:
        modules = CONNECTORS[read.connector].worker_modules(dict(read.options))
        if modules:
            yield Need(f"the source {read.name} ({read.connector})", modules)
    if job.functions:
        called = ", ".join(function.name for function in job.functions)
        packages = sorted({package for function in job.functions for package in packages_of(function)})
        yield Need(f"the function {called}" if len(job.functions) == 1 else f"the functions {called}", tuple(packages))
    if backend is StateBackendSetting.DISTRIBUTED:
        yield Need("state on the executors (state.home=distributed)", STATE_MODULES)


def _refusal(need: Need, worker: WorkerPython) -> WindrowError:
    packages = ", ".join(need.modules)
    if worker.is_away:
        hint = "see the cluster's page for workers with free cores and memory; --set spark.driver.host=ADDRESS says where the driver is"
        return OutageError(LOST, f"{need.what} cannot run: {worker.why_not}", hint)
    if worker.why_not is not None:
        hint = f"{_SHIP}; or set PYSPARK_PYTHON, before Spark starts, to a Python that every worker can start and that has {packages}"
        return UsageError(_STARTS_NOT, f"{need.what} needs Python on Spark's workers; {_told(worker, need.modules)}", hint)
    missing = " ".join(name for name in need.modules if name in worker.missing)
    hint = f"{_SHIP}; or {worker.program} -m pip install {missing}, on every worker"
    if worker.host == HERE:
        hint = "set PYSPARK_PYTHON to this Python before Spark starts: os.environ['PYSPARK_PYTHON'] = sys.executable"
    return UsageError(_LACKS, f"{need.what} needs {packages} on Spark's workers; {_told(worker, need.modules)}", hint)


def _told(worker: WorkerPython, modules: tuple[str, ...]) -> str:
    if worker.why_not is not None:
        return f"{worker.program} does not start on {worker.host}: {worker.why_not}"
    return f"{worker.program} on {worker.host} has no {', '.join(name for name in modules if name in worker.missing)}"
