"""The rows of a batch as telemetry: a record is an OTLP request, as collectors read them from a topic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from windrow.connectors.kafka.records import Records
from windrow.connectors.kafka.sink_options import OTLP
from windrow.connectors.runtime import Output
from windrow.connectors.telemetry import requests_of, rows_of
from windrow.otap.rebuild.otlp import to_json_line

CONTENT_TYPES = {"otap": "application/x-otap", "otlp": "application/x-protobuf", "otlp-json": "application/json"}
_ROWS_AT_ONCE = 2_000
# JSON takes up to so many times the room of protobuf, which is what is measured.
_LONGER = 4


@dataclass(frozen=True)
class Telemetry:
    """``format`` is otlp or otlp-json. A record has ``most_bytes`` at most, unless one row alone has more."""

    format: str
    signal: str
    most_bytes: int

    def records(self, output: Output, statement: str) -> Iterator[Records]:
        most_bytes = self.most_bytes if self.format == OTLP else self.most_bytes // _LONGER
        for rows in rows_of(output, statement, _ROWS_AT_ONCE):
            values = [self._spelled(request) for request in requests_of(statement, self.signal, rows, most_bytes)]
            about = [("content-type", CONTENT_TYPES[self.format]), ("windrow-signal", self.signal)]
            yield Records([None] * len(values), [*values], [[*about] for _ in values])

    def _spelled(self, request: Any) -> bytes:
        data: bytes = request.SerializeToString() if self.format == OTLP else to_json_line(request).encode()
        return data
