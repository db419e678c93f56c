"""Rebuilt telemetry as records of a topic. The messages of a window are one transaction; a window that was written is not written again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from windrow.connectors.runtime import SinkRequest
from windrow.otap.rebuild.export import Export, Rebuilt

if TYPE_CHECKING:
    from windrow.connectors.kafka.records import Headers, Records

_SECOND = 1_000_000_000


class MessageTopic:
    """``what`` tells this export from every other: of what, to which topic. The next run of the same goes on after the last window."""

    def __init__(self, options: Mapping[str, str], export: Export, what: Mapping[str, Any]) -> None:
        from windrow.connectors.kafka.sink import ExactSink
        from windrow.connectors.kafka.sink_settings import SinkSettings

        digest = hashlib.sha256(json.dumps({**what, "topic": options["topic"]}, sort_keys=True).encode()).hexdigest()[:24]
        self._export = export
        self._sink = ExactSink(SinkSettings.of(options), SinkRequest("export", options, f"otap-{digest}"))

    def open(self) -> int | None:
        """The end of the last window that was written, in nanoseconds, if any was."""
        self._sink.open()
        last = self._sink.last_batch
        return None if last is None else last * _SECOND

    def write(self, parts: Sequence[Rebuilt]) -> None:
        """The partitions of one window."""
        self._sink.write_records(parts[0].window.end // _SECOND, lambda: self._records(parts))

    def close(self) -> None:
        self._sink.close()

    def _records(self, parts: Sequence[Rebuilt]) -> Iterator[Records]:
        from windrow.connectors.kafka.records import Records

        for one in parts:
            count = len(one.messages)
            yield Records([one.part_id.encode()] * count, list(one.messages), [self._headers(one, n) for n in range(count)])

    def _headers(self, one: Rebuilt, number: int) -> Headers:
        """What a reader may want to know without decoding: the same whenever the window is rebuilt."""
        from windrow.connectors.kafka.telemetry import CONTENT_TYPES

        own = {
            "content-type": CONTENT_TYPES[self._export.form],
            "windrow-signal": self._export.signal,
            "windrow-part-id": one.part_id,
            "windrow-window-start": str(one.window.start),
            "windrow-window-end": str(one.window.end),
            "windrow-number": str(number),
        }
        return list(own.items())
