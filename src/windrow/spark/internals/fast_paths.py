"""The capabilities that make a job faster by what Spark does not promise, and which of them a session may use.

Each is probed once for a Spark application, when the first session of it opens. One that does not fit is never called. One that throws
is answered by Spark's public API in that batch, and is off from then on in its session. Results are the same either way.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from windrow.spark.internals import arrow_collect, file_scan, json_scan, plan_cache, plan_fusion, read_limits
from windrow.spark.internals.java_errors import may_be_misfit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = logging.getLogger("windrow.spark")
Found = TypeVar("Found")
# In the settings of a session, so that the sessions that Spark clones for micro-batches have it too.
_SESSION_ID = "spark.windrow.session"
SWITCHED_OFF = "switched off by engine.fast_paths"


@dataclass(frozen=True)
class Capability:
    """``probe`` raises where Spark lacks what is called. ``needs`` are capabilities without which this one is not used."""

    name: str
    speeds_up: str
    instead: str
    probe: Callable[[SparkSession], None]
    needs: tuple[str, ...] = ()


ARROW_COLLECT, PLAN_CACHE, PLAN_FUSION, FILE_SCAN, JSON_SCAN = "arrow_collect", "plan_cache", "plan_fusion", "file_scan", "json_scan"
READ_LIMITS = "read_limits"

CAPABILITIES: tuple[Capability, ...] = (
    Capability(
        ARROW_COLLECT,
        "rows reach a sink partition by partition, the next ones computed meanwhile",
        "the rows of a batch are collected whole",
        arrow_collect.probe,
    ),
    Capability(
        PLAN_CACHE,
        "the query of an operator is planned once for all batches",
        "Spark plans it anew in every batch",
        plan_cache.probe,
        (ARROW_COLLECT,),
    ),
    Capability(
        PLAN_FUSION,
        "the query of an operator is compiled into one piece with the source scan",
        "every row of the scan is copied first",
        plan_fusion.probe,
        (PLAN_CACHE,),
    ),
    Capability(
        FILE_SCAN,
        "names of the files of dead letters are looked up in the plan",
        "they are read from the files once more",
        file_scan.probe,
    ),
    Capability(
        JSON_SCAN,
        "files of flat JSON lines are read by Spark's JSON reader, in splits of one size",
        "each line is read as text and decoded",
        json_scan.probe,
        (FILE_SCAN,),
    ),
    Capability(
        READ_LIMITS,
        "a batch takes so much that it lasts about as long as 'batch.target' says",
        "it takes what the options of its sources let it",
        read_limits.probe,
    ),
)


@dataclass(frozen=True)
class CapabilityState:
    """``why_off`` is None for one that is in use."""

    name: str
    speeds_up: str
    instead: str
    why_off: str | None


class FastPaths:
    """The capabilities of one session."""

    def __init__(self, off: dict[str, str]) -> None:
        """``off`` has the reasons why some are not used."""
        self._off = dict(off)

    def allows(self, name: str) -> bool:
        return self._reason(name) is None

    def _reason(self, name: str) -> str | None:
        if (why := self._off.get(name)) is not None:
            return why
        needs = next(one.needs for one in CAPABILITIES if one.name == name)
        return next((f"needs {other}" for other in needs if not self.allows(other)), None)

    def switch_off(self, name: str, error: Exception) -> None:
        if name in self._off:
            return
        self._off[name] = _first_line(error)
        instead = next(one.instead for one in CAPABILITIES if one.name == name)
        LOG.warning("the fast path %s failed and is off from now on (%s): %s", name, instead, self._off[name])

    def attempt(self, name: str, fast: Callable[[], Found], otherwise: Callable[[], Found]) -> Found:
        """What ``fast`` gives; what ``otherwise`` gives where it is off or throws. Both must change nothing: one may follow the other.

        Where both fail, nothing is wrong with the fast path, and it stays on.
        """
        if not self.allows(name):
            return otherwise()
        try:
            return fast()
        except Exception as error:
            if not may_be_misfit(error):
                raise
            found = otherwise()
            self.switch_off(name, error)
            return found

    def states(self) -> tuple[CapabilityState, ...]:
        return tuple(CapabilityState(one.name, one.speeds_up, one.instead, self._reason(one.name)) for one in CAPABILITIES)


# By the id of a session, and by that of a Spark application.
_OF_SESSION: dict[str, FastPaths] = {}
_PROBED: dict[str, dict[str, str]] = {}


def open_fast_paths(spark: SparkSession, *, is_on: bool) -> FastPaths:
    """Those of a new session of ours, and of all that are cloned from it."""
    found = FastPaths(_probed(spark) if is_on else {one.name: SWITCHED_OFF for one in CAPABILITIES})
    number = uuid.uuid4().hex
    _OF_SESSION[number] = found
    spark.conf.set(_SESSION_ID, number)
    return found


def fast_paths_of(spark: SparkSession) -> FastPaths:
    """Those that a session was opened with. It asks Spark: whoever needs them often keeps them."""
    found = _OF_SESSION.get(spark.conf.get(_SESSION_ID, None) or "")
    return found or open_fast_paths(spark, is_on=True)


def _probed(spark: SparkSession) -> dict[str, str]:
    """Why capabilities do not fit this Spark, asked once."""
    application = spark.sparkContext.applicationId
    if application not in _PROBED:
        _PROBED[application] = probe_all(spark)
        for name, why in _PROBED[application].items():
            LOG.warning("the fast path %s is off, because it does not fit Spark %s: %s", name, spark.version, why)
    return _PROBED[application]


def probe_all(spark: SparkSession) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in CAPABILITIES:
        try:
            one.probe(spark)
        except Exception as error:
            found[one.name] = _first_line(error)
    return found


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0].strip() if lines else type(error).__name__
