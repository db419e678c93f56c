"""Spark's own failures as errors of ours, without the stack of a hundred lines."""

from __future__ import annotations

import re
from collections.abc import Callable

from windrow.errors import JobError, OutageError
from windrow.spark.compile.python_functions import FAILED as FAILED_FUNCTION
from windrow.spark.internals.java_errors import spark_errors
from windrow.spark.internals.lost_executors import LOST, lost_executor

# What a function of the user's own failed with, as it comes out of Spark's Python workers.
_OWN_FUNCTION = re.compile(rf"\[{FAILED_FUNCTION}\] (.*)\n\s*hint: (.*)")

# Spark waits so long for a process of its own and no longer, whatever is configured.
_NO_WORKER = ("Python worker failed to connect back", "waiting for the Python worker to connect back")

_TOO_MUCH = re.compile(r"is bigger than (?:local )?spark\.driver\.maxResultSize \(?([\d.]+ \w+)\)?")
# What a batch reads is settled by now, and other options hold for the next.
_LESS = "allow more for this batch: --set spark.driver.maxResultSize=4g; 'files.per_batch' = '10', for example, lets later ones read less"


# What 'error.policy' = 'fail' stops at: what happened, and what to write instead.
_STRICT = {
    "DIVIDE_BY_ZERO": ("a number was divided by zero", "write a / NULLIF(b, 0), or leave 'error.policy' out"),
    "CAST_OVERFLOW": ("a number does not fit the type it is cast to", "write TRY_CAST(a AS INT), or cast to a larger type"),
    "CAST_INVALID_INPUT": ("a text cannot be cast", "write TRY_CAST(a AS INT), or leave 'error.policy' out"),
    "ARITHMETIC_OVERFLOW": ("a result does not fit its type", "cast one side to a larger type: CAST(a AS DECIMAL(38, 0)) * b"),
}
_CANNOT = re.compile(rf"\[({'|'.join(_STRICT)})(?:\.\w+)?\]")


def is_sparks(error: Exception) -> bool:
    return isinstance(error, spark_errors())


def fault_of_query(error: BaseException, job: str) -> JobError | None:
    """What the statements did wrong, which Spark says only when the rows are computed: a sink may have been the first to notice."""
    cause: BaseException | None = error
    while cause is not None:
        own = _OWN_FUNCTION.search(str(cause))
        if own is not None:
            return JobError(FAILED_FUNCTION, f"job {job} stopped: {own[1]}", own[2])
        cause = cause.__cause__
    if "SCALAR_SUBQUERY_TOO_MANY_ROWS" not in str(error):
        return None
    hint = "make it one row: (SELECT MAX(name) FROM ...), or add LIMIT 1"
    return JobError("WR832", f"job {job} stopped: a subquery used as a value gave more than one row", hint)


def lost_part(error: BaseException, job: str) -> OutageError | None:
    """A part of the cluster went away under the batch, in whatever a sink or a source made of it."""
    if isinstance(error, OutageError) or (lost := lost_executor(error)) is None:
        return None
    return OutageError(LOST, f"job {job} stopped: {lost}", "see that workers are there, then run again: nothing is lost")


def as_job_error(error: Exception, job: str) -> JobError:
    """What stopped a job, in a line."""
    text = str(error)
    if "No space left on device" in text:
        return JobError(
            "WR802", f"job {job} stopped: there is no space left on the disk", "free some space, then run again: nothing is lost"
        )
    if (known := fault_of_query(error, job)) is not None:
        return known
    if (outage := lost_part(error, job)) is not None:
        return outage
    if any(sign in text for sign in _NO_WORKER):
        hint = "the machine has more to do than it can: let fewer jobs run, or start the job again when it is quieter"
        return OutageError("WR851", f"job {job} stopped: a Python worker of Spark did not start within ten seconds", hint)
    if (too_much := _TOO_MUCH.search(text)) is not None:
        return JobError("WR852", f"job {job} stopped: a batch gives the driver more than the {too_much[1]} that Spark lets it take", _LESS)
    if (cannot := _CANNOT.search(text)) is not None:
        what, hint = _STRICT[cannot[1]]
        return JobError("WR853", f"job {job} stopped: {what}, and 'error.policy' = 'fail' does not let that be NULL ({cannot[1]})", hint)
    describe: Callable[[], str] | None = getattr(error, "getCondition", None)
    lines = [line for line in text.splitlines() if line.strip()]
    first = lines[0] if lines else type(error).__name__
    code = f" ({describe()})" if describe is not None and describe() else ""
    return JobError("WR850", f"job {job} stopped: {first}{code}", "set WINDROW_DEBUG=1 to see the whole trace")
