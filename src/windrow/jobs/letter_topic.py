"""Dead letters as records of a Kafka topic, beside the job's own files: written exactly once, by the same means as a sink's rows.

The value of a record is the row as it came, so that whoever reads the topic may treat it as it would have been treated; what is
known of it stands in headers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from windrow.connectors.runtime import SinkRequest
from windrow.errors import UsageError
from windrow.jobs.options import LETTERS_CLIENT, LETTERS_SERVERS, LETTERS_TOPIC, RunOptions

if TYPE_CHECKING:
    from windrow.connectors.kafka.records import Headers, Records
    from windrow.connectors.kafka.sink import ExactSink

HEADER = "windrow-"
_TOLD = (
    *("id", "code", "message", "source", "statement", "topic", "partition", "offset", "batch_id", "attempt", "arrived_at", "event_time"),
    *("watermark", "late_by", "window_end", "rule", "label"),
)
_ROWS_AT_ONCE = 2_000


class LetterTopic:
    def __init__(self, sink: ExactSink, job: str) -> None:
        self._sink = sink
        self._job = job

    def open(self) -> None:
        self._sink.open()

    def write(self, batch_id: int, letters: pa.Table) -> None:
        self._sink.write_records(batch_id, lambda: self._records(letters))

    def close(self) -> None:
        self._sink.close()

    def _records(self, letters: pa.Table) -> Iterator[Records]:
        from windrow.connectors.kafka.records import Records

        for batch in letters.to_batches(_ROWS_AT_ONCE):
            rows = batch.to_pylist()
            yield Records([_bytes(row["key"]) for row in rows], [_value(row) for row in rows], [self._headers(row) for row in rows])

    def _headers(self, letter: Mapping[str, Any]) -> Headers:
        told = {"job": self._job, **{name: letter[name] for name in _TOLD}}
        own = [(f"{HEADER}{name.replace('_', '-')}", _spelled(value)) for name, value in told.items() if value is not None]
        return [*(letter["headers"] or ()), *own]


def letter_topic(options: RunOptions, job_id: str, restores: int, job: str, is_stopping: threading.Event) -> LetterTopic | None:
    """The topic that the run names, if any. A job that was taken back notes its batches anew: they are to be written again."""
    topic, servers = options.setting(LETTERS_TOPIC), options.setting(LETTERS_SERVERS)
    if not topic:
        return None
    if not servers:
        raise UsageError(
            "WR899", f"{LETTERS_TOPIC} = {topic} names a topic, and nothing says of which broker", f"--set {LETTERS_SERVERS}=localhost:9092"
        )
    from windrow.connectors.kafka.sink import ExactSink
    from windrow.connectors.kafka.sink_settings import KAFKA, SinkSettings

    client = {f"{KAFKA}{key[len(LETTERS_CLIENT) :]}": value for key, value in options.settings.items() if key.startswith(LETTERS_CLIENT)}
    own = {"topic": topic, "bootstrap.servers": servers, "topic.create": "true", **client}
    request = SinkRequest(f"dead letters {restores}", own, job_id, stopping=is_stopping)
    return LetterTopic(ExactSink(SinkSettings.of(own), request), job)


def _value(letter: Mapping[str, Any]) -> bytes | None:
    raw = letter["raw"]
    return raw if raw is not None else _bytes(letter["row"])


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _spelled(value: Any) -> str:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)
