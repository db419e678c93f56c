"""One request to a collector, over gRPC or HTTP: sent and answered, or an error that says how it failed."""

from __future__ import annotations

import gzip
import http.client
import ssl
import urllib.error
import urllib.request
from typing import Any, Protocol

import grpc
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from windrow.connectors.otlp.failures import AnswerError, asked_pause, seconds_of
from windrow.connectors.otlp.settings import Settings
from windrow.connectors.otlp.spec import GRPC

_METHODS = {"logs": "logs.v1.LogsService", "traces": "trace.v1.TraceService", "metrics": "metrics.v1.MetricsService"}
_ANSWERS: dict[str, Any] = {
    "logs": ExportLogsServiceResponse,
    "traces": ExportTraceServiceResponse,
    "metrics": ExportMetricsServiceResponse,
}
_REJECTED = {"logs": "rejected_log_records", "traces": "rejected_spans", "metrics": "rejected_data_points"}
_PROTOBUF = "application/x-protobuf"


class Client(Protocol):
    def send(self, body: bytes, identity: str) -> Any:
        """Gives the collector's answer. ``identity`` goes along as the header ``windrow-id``."""

    def close(self) -> None: ...


def open_client(settings: Settings) -> Client:
    return GrpcClient(settings) if settings.protocol == GRPC else HttpClient(settings)


def rejected(signal: str, answer: Any) -> tuple[int, str]:
    """How many records the collector did not take of a request that it took, and why."""
    part = answer.partial_success
    return int(getattr(part, _REJECTED[signal])), part.error_message


class GrpcClient:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        if settings.is_encrypted:
            self._channel = grpc.secure_channel(settings.address, grpc.ssl_channel_credentials(settings.certificates))
        else:
            self._channel = grpc.insecure_channel(settings.address)
        self._call = self._channel.unary_unary(
            f"/opentelemetry.proto.collector.{_METHODS[settings.signal]}/Export",
            request_serializer=bytes,
            response_deserializer=_ANSWERS[settings.signal].FromString,
        )

    def send(self, body: bytes, identity: str) -> Any:
        settings = self._settings
        try:
            return self._call(
                body,
                timeout=settings.request_seconds,
                metadata=[*settings.headers.items(), ("windrow-id", identity)],
                compression=grpc.Compression.Gzip if settings.is_compressed else grpc.Compression.NoCompression,
            )
        except grpc.RpcError as error:
            details = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
            raise AnswerError(error.code().name, error.details() or "", asked_pause(details)) from None

    def close(self) -> None:
        self._channel.close()


class HttpClient:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._tls: ssl.SSLContext | None = None
        if settings.is_encrypted:
            own = settings.certificates
            self._tls = ssl.create_default_context(cadata="" if own is None else own.decode("ascii", "replace"))

    def send(self, body: bytes, identity: str) -> Any:
        settings = self._settings
        headers = {**settings.headers, "content-type": _PROTOBUF, "windrow-id": identity}
        if settings.is_compressed:
            body, headers["content-encoding"] = gzip.compress(body, 5, mtime=0), "gzip"
        request = urllib.request.Request(settings.address, body, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=settings.request_seconds, context=self._tls) as response:
                content = response.read()
        except urllib.error.HTTPError as error:
            with error:
                raise AnswerError(error.code, error.reason or "", seconds_of(error.headers.get("Retry-After"))) from None
        except http.client.HTTPException as error:
            raise ConnectionError(f"{type(error).__name__}: {error}") from error
        try:
            return _ANSWERS[settings.signal].FromString(content)
        except DecodeError:
            raise AnswerError(response.status, "what answers is no collector") from None

    def close(self) -> None:
        """Nothing is kept open between requests."""
