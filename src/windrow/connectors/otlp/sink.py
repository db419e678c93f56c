"""Batches as OTLP requests. The protocol has no transactions: a batch that was cut off is sent again whole, so it is at least once."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.connectors.encoding import in_micros, quoted
from windrow.connectors.otlp.client import Client, open_client, rejected
from windrow.connectors.otlp.failures import REFUSED, classify, explain, pause_of
from windrow.connectors.otlp.fields import check_columns
from windrow.connectors.otlp.settings import BAD_OPTION, Settings
from windrow.connectors.runtime import Output, SinkRequest
from windrow.connectors.streaming import arrow_batches
from windrow.errors import JobError
from windrow.otap.rebuild.rows import Marks, request_of
from windrow.resilience import Guard, RetryRule

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = logging.getLogger("windrow.otlp")
EMISSION, RETRACT = "_emission", "retract"
# A job that starts and finds no collector says so soon; one that runs waits for it.
_OPENING = RetryRule(give_up_after=30.0)

Rows = list[dict[str, Any]]


def open_sink(_spark: SparkSession, request: SinkRequest) -> OtlpSink:
    return OtlpSink(Settings.of(request.options), request)


class OtlpSink:
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
        replace(self._guard, rule=_OPENING).call("reach the collector", lambda: self._send(b"", f"{self._job}/{self._statement}"))

    def write(self, output: Output) -> None:
        prefix = f"{self._job}/{self._statement}/{output.batch_id}/"
        requests, records = Marks(prefix), Marks(prefix)
        for rows in self._parts(output):
            for count, request in self._requests(rows, records):
                body, identity = request.SerializeToString(), requests.of(request)
                what = f"send {count:,} {self._settings.signal} of batch {output.batch_id} of {self._statement}"
                answer = self._guard.call(what, partial(self._send, body, identity))
                self._look_at(answer, count, output.batch_id)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _send(self, body: bytes, identity: str) -> Any:
        assert self._client is not None, "open comes first"
        return self._client.send(body, identity)

    def _parts(self, output: Output) -> Iterator[Rows]:
        wanted = list(output.columns)
        if output.table is not None:
            had = [*wanted, *([EMISSION] if EMISSION in output.table.column_names and EMISSION not in wanted else ())]
            batches: Iterable[pa.RecordBatch] = output.table.select(had).to_batches(self._settings.most_rows)
        else:
            assert output.frame is not None
            had = [*wanted, *([EMISSION] if EMISSION in output.frame.columns and EMISSION not in wanted else ())]
            batches = arrow_batches(output.frame.select(*map(quoted, had)))
        for batch in batches:
            table = in_micros(pa.Table.from_batches([batch]))
            for start in range(0, table.num_rows, self._settings.most_rows):
                yield self._without_marks(table.slice(start, self._settings.most_rows).to_pylist(), EMISSION in wanted)

    def _without_marks(self, rows: Rows, keeps: bool) -> Rows:
        for row in rows:
            if (row.get(EMISSION) if keeps else row.pop(EMISSION, None)) == RETRACT:
                message = f"{self._statement} takes a row back, and what was sent to a collector cannot be taken back"
                raise JobError(BAD_OPTION, message, "EMIT FINAL gives each result once")
        return rows

    def _requests(self, rows: Rows, marks: Marks) -> Iterator[tuple[int, Any]]:
        """Halved until each is short enough; one row alone is sent however long it is."""
        key, signal = self._settings.id_attribute, self._settings.signal
        try:
            request = request_of(signal, rows)
            is_short = request.ByteSize() <= self._settings.most_bytes or len(rows) == 1
            if is_short and key is not None:
                # Marks count what they have seen, so only rows that are sent are marked.
                request = request_of(signal, rows, marks, key)
        except (TypeError, ValueError, KeyError) as error:
            message = f"a row of {self._statement} cannot be made {self._settings.signal} of OTLP: {error}"
            raise JobError(BAD_OPTION, message, "give columns the names and types of an OTAP stream: DESCRIBE shows them") from error
        if is_short:
            yield len(rows), request
            return
        middle = len(rows) // 2
        yield from self._requests(rows[:middle], marks)
        yield from self._requests(rows[middle:], marks)

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
