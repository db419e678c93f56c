"""What an error of the broker or of its client means: whether to try again, and what to tell the user."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from windrow.errors import JobError, WindrowError
from windrow.resilience import FailureClass

UNREACHABLE, REFUSED, NO_TOPIC = "WR860", "WR861", "WR862"
TOO_LARGE, REPLACED, NO_KEY, LASTING = "WR893", "WR894", "WR895", "WR896"
TRUST_HINT = (
    "name the certificate that the broker's is signed by, 'kafka.ssl.truststore.location' = 'ca.pem', "
    "and the broker as its certificate does in 'bootstrap.servers'"
)

_FENCED = (
    KafkaError._FENCED,
    KafkaError.INVALID_PRODUCER_EPOCH,
    KafkaError.PRODUCER_FENCED,
    KafkaError.INVALID_PRODUCER_ID_MAPPING,
)
_UNKNOWN = (KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION)
_DENIED = (
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError._AUTHENTICATION,
    KafkaError._SSL,
)
_TOO_BIG = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG_SIZE)
_BAD_RECORD = (*_TOO_BIG, KafkaError.INVALID_RECORD)
_PERMANENT = (
    *_FENCED,
    *_UNKNOWN,
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
# What Spark's own reader and writer fail with on the executors, as text, when the broker is away.
AWAY_IN_JAVA = (
    "org.apache.kafka.common.errors.TimeoutException",
    "org.apache.kafka.common.errors.NetworkException",
    "org.apache.kafka.common.errors.DisconnectException",
    "No resolvable bootstrap urls",
)
_FULL = (KafkaError.KAFKA_STORAGE_ERROR, KafkaError.THROTTLING_QUOTA_EXCEEDED)


def error_of(error: BaseException) -> KafkaError | None:
    found = error.args[0] if isinstance(error, KafkaException) and error.args else None
    return found if isinstance(found, KafkaError) else None


def is_denied(error: BaseException) -> bool:
    """Whether the broker, or the client on its behalf, let nobody in."""
    known = error_of(error)
    return known is not None and known.code() in _DENIED


def is_fenced(error: BaseException) -> bool:
    known = error_of(error)
    return known is not None and known.code() in _FENCED


def classify(error: BaseException) -> FailureClass:
    known = error_of(error)
    if known is None:
        is_away = any(name in str(error) for name in AWAY_IN_JAVA)
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


def explain(servers: str, error: BaseException, what: str) -> WindrowError:
    """``what`` completes "could not ..."."""
    known, said = error_of(error), what_was_said(error)
    if known is None:
        return JobError(LASTING, f"could not {what}: {said}", "set WINDROW_DEBUG=1 to see the whole trace")
    code = known.code()
    if code in _FENCED:
        return JobError(
            REPLACED,
            f"could not {what}: another run of this job has taken over, or the batch took longer than its transaction may",
            "let one run at a time use a state folder; for long batches set 'transaction.timeout' = '15m'",
        )
    if code in _UNKNOWN:
        return JobError(NO_TOPIC, f"could not {what}: there is no such topic ({said})", "make it, or add 'topic.create' = 'true'")
    if code == KafkaError._SSL:
        return JobError(REFUSED, f"could not {what}: no trusted connection to {servers} ({said})", TRUST_HINT)
    if code in _DENIED:
        return JobError(
            REFUSED,
            f"could not {what}: the broker {servers} refuses it ({said})",
            "check 'kafka.security.protocol', 'kafka.sasl.mechanism' and the credentials, and that the user may read the topic; to write, "
            "also the topic, the transactional id and the commits topic",
        )
    if code in _TOO_BIG:
        return too_large(what, None)
    if not classify(error).is_worth_trying_again:
        return JobError(LASTING, f"could not {what}: {said} ({known.name()})", "mend the cause and start the job again")
    return JobError(
        UNREACHABLE,
        f"could not {what}: the broker {servers} does not answer ({said})",
        "check 'bootstrap.servers' and that the broker runs (here: windrow kafka up); started again, the job goes on where it was",
    )


def too_large(what: str, size: int | None) -> JobError:
    shown = "" if size is None else f" of {size:,} bytes"
    return JobError(
        TOO_LARGE,
        f"could not {what}: a row{shown} is larger than a record may be",
        "raise 'kafka.message.max.bytes' = '10485760' here, and max.message.bytes of the topic",
    )


def what_was_said(error: BaseException) -> str:
    """The reason in a line."""
    known = error_of(error)
    lines = (str(error) if known is None else known.str()).strip().splitlines()
    return lines[0] if lines else type(error).__name__
