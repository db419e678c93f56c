"""What an error of the broker or of its client means: whether to try again, and what to tell the user."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from windrow.errors import JobError, WindrowError
from windrow.resilience import FailureClass

_FENCED = (
    KafkaError._FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_ID_MAPPING,
)
_NO_TOPIC = (KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION)
_DENIED = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
)
_TOO_LARGE = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG_SIZE)
_BAD_RECORD = (*_TOO_LARGE, KafkaError.INVALID_RECORD)
_PERMANENT = (
    *_FENCED,
    *_NO_TOPIC,
    *_DENIED,
    KafkaError.TOPIC_EXCEPTION,
    KafkaError.INVALID_REPLICATION_FACTOR,
    KafkaError.INVALID_PARTITIONS,
    KafkaError.INVALID_CONFIG,
    KafkaError.POLICY_VIOLATION,
    KafkaError.INVALID_TRANSACTION_TIMEOUT,
    KafkaError.UNSUPPORTED_VERSION,
    KafkaError._UNSUPPORTED_FEATURE,
    KafkaError._INVALID_ARG,
)
# What Spark's own writer fails with on the executors, as text, when the broker is away.
_AWAY_IN_JAVA = ("common.errors.TimeoutException", "common.errors.NetworkException", "common.errors.DisconnectException")
_FULL = (KafkaError.KAFKA_STORAGE_ERROR, KafkaError.THROTTLING_QUOTA_EXCEEDED)


def error_of(error: BaseException) -> KafkaError | None:
    found = error.args[0] if isinstance(error, KafkaException) and error.args else None
    return found if isinstance(found, KafkaError) else None


def is_fenced(error: BaseException) -> bool:
    known = error_of(error)
    return known is not None and known.code() in _FENCED


def classify(error: BaseException) -> FailureClass:
    known = error_of(error)
    if known is None:
        is_away = any(name in str(error) for name in _AWAY_IN_JAVA)
        return FailureClass.TRANSIENT if is_away else FailureClass.PERMANENT
    code = known.code()
    if code in _BAD_RECORD:
        return FailureClass.DATA
    if code in _PERMANENT:
        return FailureClass.PERMANENT
    if code in _FULL:
        return FailureClass.RESOURCE
    # Errors of the client itself are below zero: connections that broke, calls that took too long.
    may_pass = known.retriable() or known.txn_requires_abort() or (code < 0 and not known.fatal())
    return FailureClass.TRANSIENT if may_pass else FailureClass.PERMANENT


def explain(error: BaseException, what: str) -> WindrowError:
    """``what`` completes "could not ..."."""
    known = error_of(error)
    if known is None:
        return JobError("WR566", f"could not {what}: {_first_line(str(error))}", "set WINDROW_DEBUG=1 to see the whole trace")
    code, said = known.code(), _first_line(known.str())
    if code in _FENCED:
        return JobError(
            "WR563",
            f"could not {what}: another run of this job has taken over, or the batch took longer than its transaction may",
            "let one run at a time use a state folder; for long batches set 'transaction.timeout' = '15m'",
        )
    if code in _NO_TOPIC:
        return JobError("WR561", f"could not {what}: there is no such topic ({said})", "make it, or add 'topic.create' = 'true'")
    if code in _DENIED:
        return JobError(
            "WR565",
            f"could not {what}: the broker refuses it ({said})",
            "check 'kafka.security.protocol' and the credentials, and that the user may write the topic, the transactional id "
            "and the commits topic",
        )
    if code in _TOO_LARGE:
        return too_large(what, None)
    if not classify(error).is_worth_trying_again:
        return JobError("WR566", f"could not {what}: {said} ({known.name()})", "mend the cause and start the job again")
    return JobError(
        "WR560",
        f"could not {what}: the broker does not answer ({said})",
        "check 'bootstrap.servers' and that the broker runs; start the job again and it goes on with this batch",
    )


def too_large(what: str, size: int | None) -> JobError:
    shown = "" if size is None else f" of {size:,} bytes"
    return JobError(
        "WR562",
        f"could not {what}: a row{shown} is larger than a record may be",
        "raise 'kafka.message.max.bytes' = '10485760' here, and max.message.bytes of the topic",
    )


def _first_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[0] if lines else "no reason given"
