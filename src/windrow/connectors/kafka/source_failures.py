"""What went wrong while topics were read, said so that a user can act on it."""

from __future__ import annotations

import re

from windrow.connectors.kafka.failures import AWAY_IN_JAVA, REFUSED, TRUST_HINT, UNREACHABLE
from windrow.errors import JobError, OutageError, WindrowError
from windrow.spark.internals.java_errors import messages_of

LOST, NO_SCHEMA = "WR863", "WR869"

# An error of ours that was raised in a Python worker comes back as text.
_FROM_WORKER = re.compile(rf"\[({NO_SCHEMA})\] (.*)\n\s*hint: (.*)")
_GONE = (
    "KAFKA_DATA_LOSS",
    "UnknownTopicOrPartitionException",
    "UnknownTopicIdException",
    "OffsetOutOfRangeException",
    "some data may have been",
)
_UNTRUSTED = ("SslAuthenticationException", "SSLHandshakeException")
_DENIED = ("SaslAuthenticationException", "AuthorizationException", "LoginException")


def explain_failure(error: BaseException) -> WindrowError | None:
    """The failure of a batch, where Kafka was the cause; else None."""
    if isinstance(error, WindrowError):
        return error
    # What a Python worker raised stands in the text that PySpark makes of it.
    messages = [str(error), *messages_of(error)]
    text = "\n".join(messages)
    if own := _FROM_WORKER.search(text):
        return JobError(own[1], own[2], own[3])
    if "kafka" not in text.lower():
        return None
    if any(sign in text for sign in _GONE):
        return JobError(
            LOST,
            "records are gone that were not read yet: a topic was deleted or made anew, or its retention was shorter than the job's pause "
            f"({_line_with(_GONE, messages)})",
            "start with a new --state folder, or add 'fail.on.data.loss' = 'false' to go on with what is there",
        )
    if any(sign in text for sign in _UNTRUSTED):
        return JobError(REFUSED, f"no trusted connection to the broker: {_line_with(_UNTRUSTED, messages)}", TRUST_HINT)
    if any(sign in text for sign in _DENIED):
        return JobError(
            REFUSED,
            f"the broker refuses the job: {_line_with(_DENIED, messages)}",
            "check 'kafka.security.protocol', 'kafka.sasl.mechanism', the credentials and that the user may read the topic",
        )
    if any(sign in text for sign in AWAY_IN_JAVA):
        return OutageError(
            UNREACHABLE,
            f"the broker does not answer: {_line_with(AWAY_IN_JAVA, messages)}",
            "check that the broker runs and start the job again: it goes on where it was",
        )
    return None


def _line_with(signs: tuple[str, ...], messages: list[str]) -> str:
    lines = [line.strip() for message in messages for line in message.splitlines()]
    found = next((line for line in lines if any(sign in line for sign in signs)), "no reason given")
    return found[:300]
