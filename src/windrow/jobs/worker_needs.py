"""What a job needs of the Python of Spark's workers, compared with what they have before the first batch."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from windrow.connectors.registry import CONNECTORS
from windrow.errors import UsageError
from windrow.model.policies import StateBackendSetting
from windrow.plan.stages import Job
from windrow.spark.internals.workers import WorkerPython, lacking

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = logging.getLogger("windrow.spark")
STATE_MODULES = ("pyarrow", "polars", "windrow")
_LACKS, _STARTS_NOT = "WR608", "WR609"


@dataclass(frozen=True)
class Need:
    what: str
    modules: tuple[str, ...]


def check_workers(spark: SparkSession, jobs: Iterable[Job], backend: StateBackendSetting) -> None:
    """Refuse a job whose Python parts cannot run where its rows are. Decoding of JSON has another way, and asks for itself."""
    needs = [need for job in jobs for need in _needs(job, backend)]
    for need in needs:
        short = lacking(spark, need.modules)
        if short:
            raise _refusal(need, short[0])


def can_hold_state(spark: SparkSession) -> bool:
    """Whether state may move to the executors by itself. Where it cannot, it stays in the driver."""
    short = lacking(spark, STATE_MODULES)
    if short:
        LOG.warning("state stays in the driver: %s", _told(short[0], STATE_MODULES))
    return not short


def _needs(job: Job, backend: StateBackendSetting) -> Iterator[Need]:
    for read in job.reads:
        modules = CONNECTORS[read.connector].worker_modules(dict(read.options))
        if modules:
            yield Need(f"the source {read.name} ({read.connector})", modules)
    if job.functions:
        called = ", ".join(function.name for function in job.functions)
        yield Need(f"the function {called}" if len(job.functions) == 1 else f"the functions {called}", ("pyarrow", "windrow"))
    if backend is StateBackendSetting.DISTRIBUTED:
        yield Need("state on the executors (state.home=distributed)", STATE_MODULES)


def _refusal(need: Need, worker: WorkerPython) -> UsageError:
    packages = ", ".join(need.modules)
    if worker.why_not is not None:
        hint = f"set PYSPARK_PYTHON, before Spark starts, to a Python that every worker can start and that has {packages}"
        return UsageError(_STARTS_NOT, f"{need.what} needs Python on Spark's workers; {_told(worker, need.modules)}", hint)
    missing = " ".join(name for name in need.modules if name in worker.missing)
    hint = f"{worker.program} -m pip install {missing}, on every worker; or set PYSPARK_PYTHON, before Spark starts, to one that has them"
    if worker.host == "this machine":
        hint = "set PYSPARK_PYTHON to this Python before Spark starts: os.environ['PYSPARK_PYTHON'] = sys.executable"
    return UsageError(_LACKS, f"{need.what} needs {packages} on Spark's workers; {_told(worker, need.modules)}", hint)


def _told(worker: WorkerPython, modules: tuple[str, ...]) -> str:
    if worker.why_not is not None:
        return f"{worker.program} does not start on {worker.host}: {worker.why_not}"
    return f"{worker.program} on {worker.host} has no {', '.join(name for name in modules if name in worker.missing)}"
