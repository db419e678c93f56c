"""Spans to an OpenTelemetry collector, by its own SDK: in the background, and never in the way of a batch."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING

from windrow.errors import UsageError
from windrow.observe.batch_trace import Span
from windrow.observe.traces import TraceParent

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import SpanContext

GRPC, HTTP = "grpc", "http"
_SCOPE = "windrow"
_WINDOW_START = "windrow.window.start"
# At the end of a job: how long the collector may take for what is left.
_FLUSH_MILLIS = 5_000


class SpanExport:
    """Sends spans in batches from a thread of its own. What a collector that is away does not take in time is dropped by the SDK, with a
    line in the log.
    """

    def __init__(self, processor: SpanProcessor, service: str) -> None:
        from opentelemetry.sdk.resources import Resource

        self._processor = processor
        self._resource = Resource.create({"service.name": service})

    def send(self, spans: Iterable[Span]) -> None:
        for span in spans:
            self._processor.on_end(self._readable(span))

    def close(self) -> None:
        self._processor.force_flush(_FLUSH_MILLIS)
        self._processor.shutdown()

    def _readable(self, span: Span) -> ReadableSpan:
        from opentelemetry.sdk.trace import ReadableSpan
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope
        from opentelemetry.trace import Link, SpanKind, Status, StatusCode

        parent = None if span.parent_id is None else _context(TraceParent(span.trace_id, span.parent_id))
        return ReadableSpan(
            name=span.name,
            context=_context(TraceParent(span.trace_id, span.span_id)),
            parent=parent,
            resource=self._resource,
            attributes=dict(span.attributes),
            links=[Link(_context(one.to), _of_window(one.window_start)) for one in span.links],
            kind=SpanKind[span.kind.upper()],
            status=Status(StatusCode.OK) if span.error is None else Status(StatusCode.ERROR, span.error),
            start_time=span.start,
            end_time=span.end,
            instrumentation_scope=InstrumentationScope(_SCOPE),
        )


def span_export(endpoint: str, protocol: str, service: str) -> SpanExport:
    """To the collector at an address. Credentials and the like are the SDK's own variables, ``OTEL_EXPORTER_OTLP_*``."""
    _check_installed()
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    return SpanExport(BatchSpanProcessor(_exporter(endpoint, protocol)), service)


def _exporter(endpoint: str, protocol: str) -> SpanExporter:
    if protocol == GRPC:
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter(endpoint=endpoint, insecure=not endpoint.startswith("https://"))
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter

    return HttpExporter(endpoint=endpoint if endpoint.endswith("/v1/traces") else f"{endpoint.rstrip('/')}/v1/traces")


def _check_installed() -> None:
    """Said at the start, and not at the first batch."""
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        raise UsageError(
            "WR628", "traces.endpoint is set, and the OpenTelemetry SDK is not installed", "python -m pip install 'windrow[otel]'"
        )


def _of_window(start: int | None) -> dict[str, str]:
    """
    >>> _of_window(1_767_605_400_000_000), _of_window(None)
    ({'windrow.window.start': '2026-01-05T09:30:00.000Z'}, {})
    """
    if start is None:
        return {}
    at = datetime.fromtimestamp(start / 1e6, UTC).isoformat(timespec="milliseconds")
    return {_WINDOW_START: at.replace("+00:00", "Z")}


def _context(at: TraceParent) -> SpanContext:
    from opentelemetry.trace import SpanContext, TraceFlags

    return SpanContext(at.trace_id, at.span_id, is_remote=False, trace_flags=TraceFlags(int(at.is_sampled)))
