"""A collector for tests: takes OTLP over gRPC and HTTP, keeps what it took, and fails as it is told."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import grpc

from windrow.connectors.otlp.client import _ANSWERS, _METHODS
from windrow.otap.rebuild.otlp import REQUESTS

Told = tuple[Any, ...]


class Collector:
    """``script`` holds what the next requests with rows are told: a code of gRPC or HTTP and more, or an answer to give."""

    def __init__(self) -> None:
        self.address = ""
        self.requests: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.script: list[Any] = []
        # What it does not take because of what it holds, and what it says then.
        self.is_wrong: Callable[[Any], bool] = lambda request: False
        self.wrong: Told = ()

    def take(self, signal: str, body: bytes, headers: dict[str, str]) -> Any:
        """What to answer: None for yes."""
        request = REQUESTS[signal].FromString(body)
        if not request.ByteSize():
            return None
        if self.is_wrong(request):
            return self.wrong
        told = self.script.pop(0) if self.script else None
        if told is None or not isinstance(told, tuple):
            self.requests.append(request)
            self.headers.append(headers)
        return told

    @property
    def logs(self) -> list[Any]:
        return [
            one
            for request in self.requests
            for outer in getattr(request, "resource_logs", ())
            for inner in outer.scope_logs
            for one in inner.log_records
        ]


@contextmanager
def grpc_collector() -> Iterator[Collector]:
    collector = Collector()
    server = grpc.server(ThreadPoolExecutor(2))
    for signal, service in _METHODS.items():
        handler = grpc.unary_unary_rpc_method_handler(_grpc_export(collector, signal))
        name = f"opentelemetry.proto.collector.{service}"
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, {"Export": handler}),))
    collector.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield collector
    finally:
        server.stop(None).wait()


def _grpc_export(collector: Collector, signal: str) -> Callable[[bytes, Any], bytes]:
    def export(body: bytes, context: Any) -> bytes:
        told = collector.take(signal, body, {key: str(value) for key, value in context.invocation_metadata()})
        if isinstance(told, tuple):
            code, said, *details = told
            if details:
                context.set_trailing_metadata((("grpc-status-details-bin", details[0]),))
            context.abort(code, said)
        return bytes((told or _ANSWERS[signal]()).SerializeToString())

    return export


@contextmanager
def http_collector() -> Iterator[Collector]:
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            signal = self.path.removeprefix("/v1/")
            told = collector.take(signal, body, {key.lower(): value for key, value in self.headers.items()})
            if isinstance(told, tuple):
                self.send_response(told[0])
                for key, value in told[1:]:
                    self.send_header(key, value)
                self.send_header("content-length", "0")
                self.end_headers()
                return
            answer = (told or _ANSWERS[signal]()).SerializeToString()
            self.send_response(200)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
