"""Batches as OTLP requests. The protocol has no transactions: a batch that was cut off is sent again whole, so it is at least once."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from windrow.connectors.otlp.client import Client, open_client, rejected
from windrow.connectors.otlp.failures import REFUSED, classify, explain, pause_of
from windrow.connectors.otlp.settings import Settings
from windrow.connectors.runtime import Output, Refused, Sink, SinkRequest
from windrow.connectors.telemetry import Rows, halves, made_request, rows_of
from windrow.connectors.telemetry_columns import check_columns
from windrow.errors import JobError, WindrowError
from windrow.otap.rebuild.rows import Marks, request_of
from windrow.resilience import FailureClass, Guard, RetryRule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = logging.getLogger("windrow.otlp")
# A job that starts and finds no collector says so soon; one that runs waits for it.
_OPENING = RetryRule(give_up_after=30.0)


def open_sink(_spark: SparkSession, request: SinkRequest) -> OtlpSink:
    return OtlpSink(Settings.of(request.options), request)


class _Batch:
    """What is kept while a batch is sent."""

    def __init__(self, number: int, prefix: str) -> None:
        self.number = number
        self.requests = Marks(prefix)
        self.records = Marks(prefix)
        self.refused: list[Refused] = []


class OtlpSink(Sink):
    def __init__(self, settings: Settings, request: SinkRequest) -> None:
        check_columns(request.statement, settings.signal, request.columns)
        self._settings = settings
        self._statement = request.statement
        self._job = request.job
        self._client: Client | None = None
        rule = RetryRule(give_up_after=settings.retry_seconds)
        self._guard = Guard(
            f"collector {settings.address}", classify, partial(explain, settings.address), rule, request.stopping, least_pause=pause_of
        )

    def open(self) -> None:
        """A request without rows proves that somebody takes them."""
        self._client = open_client(self._settings)
        opening = replace(self._guard, rule=_OPENING, is_opening=True)
        opening.call("reach the collector", lambda: self._send(b"", f"{self._job}/{self._statement}"))

    def write(self, output: Output) -> Sequence[Refused]:
        batch = _Batch(output.batch_id, f"{self._job}/{self._statement}/{output.batch_id}/")
        for rows in rows_of(output, self._statement, self._settings.most_rows):
            self._send_rows(rows, batch)
        return batch.refused

    def _send_rows(self, rows: Rows, batch: _Batch) -> None:
        """In one request, or halved until each is short enough; one row alone is sent however long it is.

        Of rows that are refused for what they hold, halves show which they are.
        """
        try:
            request = self._request(rows, batch)
            if request is not None:
                self._send_request(request, len(rows), batch)
                return
        except WindrowError as error:
            why = error.__cause__
            is_theirs = isinstance(why, ValueError | TypeError | KeyError) or (why is not None and classify(why) is FailureClass.DATA)
            if not self._settings.sets_refused_aside or not is_theirs:
                raise
            batch.records.take_back()
            if len(rows) == 1:
                batch.refused.append(Refused(rows[0], str(why)))
                return
        for half in halves(rows):
            self._send_rows(half, batch)

    def _send_request(self, request: Any, count: int, batch: _Batch) -> None:
        body, identity = request.SerializeToString(), batch.requests.of(request)
        what = f"send {count:,} {self._settings.signal} of batch {batch.number} of {self._statement}"
        answer = self._guard.call(what, partial(self._send, body, identity))
        batch.records.keep()
        self._look_at(answer, count, batch.number)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _send(self, body: bytes, identity: str) -> Any:
        assert self._client is not None, "open comes first"
        return self._client.send(body, identity)

    def _request(self, rows: Rows, batch: _Batch) -> Any | None:
        """None where it would be too long."""
        key, signal = self._settings.id_attribute, self._settings.signal
        request = made_request(self._statement, signal, rows, self._settings.most_bytes)
        # Marks count what they have seen, so only rows that are sent are marked.
        return request if key is None or request is None else request_of(signal, rows, batch.records, key)

    def _look_at(self, answer: Any, count: int, batch_id: int) -> None:
        """The protocol says that what was rejected must not be sent again."""
        number, why = rejected(self._settings.signal, answer)
        if number and self._settings.fails_if_rejected:
            message = f"{self._settings.address} rejects {number:,} of {count:,} {self._settings.signal} of batch {batch_id}: {why}"
            raise JobError(REFUSED, message, "mend the cause; to go on without them: 'on.rejected' = 'warn'")
        if number or why:
            LOG.warning(
                "%s rejects %d of %d %s of batch %d: %s", self._settings.address, number, count, self._settings.signal, batch_id, why
            )
