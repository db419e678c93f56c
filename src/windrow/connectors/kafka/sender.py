"""A producer that takes records by the thousand, holds a bounded number of them, and says why one did not arrive."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from windrow.connectors.kafka.client import Complaints, refused_setting
from windrow.connectors.kafka.failures import error_of, is_fenced, too_large
from windrow.connectors.kafka.records import Headers, Records

_POLL = 0.05
_REASON_SECONDS = 5.0
# As the Java clients and Spark do it: the same key goes to the same partition, whoever writes.
_TUNING: dict[str, Any] = {
    "partitioner": "murmur2_random",
    "compression.type": "lz4",
    "linger.ms": 20,
    "batch.size": 1_000_000,
    "enable.idempotence": True,
    "queue.buffering.max.messages": 200_000,
    "queue.buffering.max.kbytes": 131_072,
    "delivery.report.only.error": True,
}


class Sender:
    """``seconds`` bound each call, and how long nothing may arrive before the broker counts as away."""

    def __init__(self, client: Mapping[str, Any], complaints: Complaints, topic: str, seconds: float, own: Mapping[str, Any]) -> None:
        self._topic = topic
        self._seconds = seconds
        self._complaints = complaints
        self._failure: KafkaError | None = None
        try:
            self._producer = Producer({**_TUNING, **own, **client, "on_delivery": self._note})
        except KafkaException as error:
            raise refused_setting(error) from error

    def _note(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None and self._failure is None:
            self._failure = error

    def init_transactions(self) -> None:
        """Whoever held this transactional id before can write no more; what it left open is aborted."""
        try:
            self._producer.init_transactions(self._seconds)
        except KafkaException as error:
            raise self._complaints.or_worse(error) from error

    def begin(self) -> None:
        try:
            self._producer.begin_transaction()
        except KafkaException as error:
            raise self._why(error) from error

    def send(self, records: Records) -> None:
        """Returns when all are queued, which waits while the queue is full."""
        if records.headers is None:
            self._send_plain(records)
        else:
            self._send_with_headers(records, records.headers)

    def _send_plain(self, records: Records) -> None:
        """One call for all: half the time of a call for each. It knows no headers."""
        messages: list[dict[str, Any]] = [{"key": k, "value": v} for k, v in zip(records.keys, records.values, strict=True)]
        if records.times is not None:
            for message, at in zip(messages, records.times, strict=True):
                if at is not None:
                    message["timestamp"] = at
        deadline = time.monotonic() + self._seconds
        while (taken := self._producer.produce_batch(self._topic, messages)) < len(messages):
            # Once the queue is full, all that follow are given back, so their order stays.
            messages = messages[taken:]
            error = messages[0].pop("_error")
            if error.code() != KafkaError._QUEUE_FULL:
                raise self._refusal(error, messages[0]["value"])
            for message in messages[1:]:
                message.pop("_error", None)
            deadline = time.monotonic() + self._seconds if taken else deadline
            self._wait_for_room(deadline)
        self._served(self._producer.poll, 0)

    def _send_with_headers(self, records: Records, headers: list[Headers | None]) -> None:
        times = records.times or [None] * len(records)
        for key, value, own, at in zip(records.keys, records.values, headers, times, strict=True):
            extra: dict[str, Any] = {} if at is None else {"timestamp": at}
            if own:
                extra["headers"] = own
            self.send_one(self._topic, key, value, **extra)
        self._served(self._producer.poll, 0)

    def send_one(self, topic: str, key: bytes | None, value: bytes | None, **extra: Any) -> None:
        deadline = time.monotonic() + self._seconds
        while True:
            try:
                self._producer.produce(topic, value, key, **extra)
            except BufferError:
                self._wait_for_room(deadline)
            except KafkaException as error:
                raise self._refusal(error.args[0], value) from error
            else:
                return

    def _refusal(self, error: KafkaError, value: bytes | None) -> Exception:
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            return too_large(f"write to topic {self._topic}", len(value or b""))
        return self._reason(error)

    def _wait_for_room(self, deadline: float) -> None:
        self._served(self._producer.poll, _POLL)
        self._raise_failure()
        if time.monotonic() > deadline:
            raise self._timed_out()

    def flush(self) -> None:
        """Returns when every record has arrived."""
        left = len(self._producer)
        deadline = time.monotonic() + self._seconds
        while (now := self._served(self._producer.flush, min(1.0, self._seconds))) > 0:
            self._raise_failure()
            if now < left:
                left, deadline = now, time.monotonic() + self._seconds
            elif time.monotonic() > deadline:
                raise self._timed_out()
        self._raise_failure()

    def commit(self) -> None:
        """Fails with the outcome unknown where the broker goes away just then: ask what was committed before writing again."""
        self.flush()
        try:
            self._producer.commit_transaction(self._seconds)
        except KafkaException as error:
            raise self._complaints.or_worse(self._why(error)) from error

    def drop(self, *, abort: bool) -> None:
        """Let go of all that was not delivered. A transaction that cannot be aborted now is aborted by whoever comes next."""
        with suppress(KafkaException):
            self._producer.purge()
            if abort:
                self._producer.abort_transaction(min(5.0, self._seconds))

    def _served(self, serve: Callable[[float], int], seconds: float) -> int:
        """The client raises a fatal error while it serves callbacks, which then trip over it."""
        try:
            return serve(seconds)
        except SystemError as error:
            cause = error.__cause__
            while cause is not None and not isinstance(cause, KafkaException):
                cause = cause.__cause__
            raise (error if cause is None else self._why(cause)) from error

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._reason(self._failure)

    def _why(self, error: KafkaException) -> KafkaException:
        known = error_of(error)
        return error if known is None else self._reason(known)

    def _reason(self, error: KafkaError) -> KafkaException:
        """Whoever meets a producer that is beyond repair hears only that it is.

        The transaction knows why, and says so when aborted; if it does not know yet, the client says so in passing.
        """
        reason = KafkaException(error)
        if error.code() != KafkaError._FATAL:
            return reason
        try:
            self._producer.abort_transaction(self._seconds)
        except KafkaException as said:
            reason = said
        if is_fenced(reason):
            return reason
        # The client's own thread tells it some time after the first call has failed.
        deadline = time.monotonic() + min(_REASON_SECONDS, self._seconds)
        while self._complaints.denied is None and time.monotonic() < deadline:
            with suppress(KafkaException, SystemError):
                self._producer.poll(_POLL)
        return self._complaints.or_worse(reason)

    def _timed_out(self) -> KafkaException:
        left = f"{len(self._producer):,} records did not arrive within {self._seconds:g} s"
        return self._complaints.or_worse(KafkaException(KafkaError(KafkaError._TIMED_OUT, left)))
