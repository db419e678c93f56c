"""What an answer of a collector means: whether to try again, and what to tell the user."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from time import time

from windrow.errors import JobError, WindrowError
from windrow.otap.rebuild.wire import read_fields
from windrow.resilience import FailureClass

REFUSED, UNREACHABLE = "WR888", "WR889"

# As the protocol lists them.
_TRANSIENT = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "ABORTED", "OUT_OF_RANGE", "DATA_LOSS", 502, 503, 504)
# What is wrong is in the request, and another one may be taken.
_DATA = ("INVALID_ARGUMENT", 400, 413, 422)
_LONGEST_PAUSE = 300.0


class AnswerError(Exception):
    """The collector, or something between, answered with a failure. ``code`` is a name of gRPC or a number of HTTP."""

    def __init__(self, code: str | int, said: str, retry_after: float = 0.0) -> None:
        super().__init__(code, said, retry_after)
        self.code = code
        self.said = said
        self.retry_after = retry_after

    def __str__(self) -> str:
        return f"{self.code}: {self.said}" if self.said else str(self.code)


def classify(error: BaseException) -> FailureClass:
    if not isinstance(error, AnswerError):
        return FailureClass.TRANSIENT if isinstance(error, OSError | TimeoutError) else FailureClass.PERMANENT
    # gRPC says the same of a quota, which passes, and of a message that is too long, which does not.
    if error.code in ("RESOURCE_EXHAUSTED", 429):
        return FailureClass.DATA if "larger than max" in error.said else FailureClass.RESOURCE
    if error.code in _DATA:
        return FailureClass.DATA
    return FailureClass.TRANSIENT if error.code in _TRANSIENT else FailureClass.PERMANENT


def pause_of(error: BaseException) -> float:
    """The least time to wait, where the collector names one."""
    return min(error.retry_after, _LONGEST_PAUSE) if isinstance(error, AnswerError) else 0.0


def explain(address: str, error: BaseException, what: str) -> WindrowError:
    """``what`` completes "could not ..."."""
    said = str(error).strip().splitlines()
    text = f"could not {what}: {said[0] if said else type(error).__name__}"
    if classify(error).is_worth_trying_again:
        hint = "see that the collector runs and 'endpoint' and 'protocol' are right; started again, the job goes on with this batch"
        return JobError(UNREACHABLE, f"{text} ({address} did not take it in time)", hint)
    return JobError(REFUSED, f"{text} ({address} refuses it)", _hint(error))


def _hint(error: BaseException) -> str:
    code = error.code if isinstance(error, AnswerError) else ""
    if code in ("UNAUTHENTICATED", "PERMISSION_DENIED", 401, 403):
        return "'headers.authorization' = 'Bearer ${TOKEN}'"
    if code in ("UNIMPLEMENTED", 404, 405):
        return "check 'endpoint' and 'protocol', and that the collector has a pipeline for this signal"
    if code in ("RESOURCE_EXHAUSTED", 413):
        return "'request.bytes' = '1000000', or raise the limit of the collector's receiver"
    if classify(error) is FailureClass.DATA:
        return "'failure.policy' = 'dead_letter' sets such rows aside and goes on; or mend the statement that makes them"
    return "mend the cause and start the job again: it goes on with this batch"


def seconds_of(header: str | None) -> float:
    """What Retry-After asks for: seconds, or a date.

    >>> seconds_of("3"), seconds_of(None), seconds_of("soon")
    (3.0, 0.0, 0.0)
    """
    text = (header or "").strip()
    if text.isdecimal():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time())
    except (ValueError, TypeError):
        return 0.0


def asked_pause(details: bytes) -> float:
    """Seconds that a google.rpc.Status, which gRPC sends along with a failure, asks for in its RetryInfo; 0 where there is none."""
    try:
        for number, detail in read_fields(details):
            packed = dict(read_fields(detail)) if number == 3 and isinstance(detail, bytes) else {}
            kind, value = packed.get(1), packed.get(2)
            if isinstance(kind, bytes) and kind.endswith(b"google.rpc.RetryInfo") and isinstance(value, bytes):
                delay = dict(read_fields(value)).get(1)
                parts = dict(read_fields(delay)) if isinstance(delay, bytes) else {}
                return float(parts.get(1, 0)) + float(parts.get(2, 0)) / 1e9
    except (IndexError, ValueError):
        pass
    return 0.0
