"""The page over a made-up API: files as the server has them, answers from recorded JSON, and a live stream that a test writes."""

from __future__ import annotations

import copy
import json
import mimetypes
import queue
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from windrow.server.api.security import _HEADERS
from windrow.server.app import PAGE

RECORDED = Path(__file__).parent / "recorded"
# What a path answers: JSON, or what makes a status and JSON of a method, the query and the body.
Answer = Callable[[str, dict[str, list[str]], Any], tuple[int, Any]]


class FakeServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, recorded: str = "two_jobs") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        told = json.loads((RECORDED / f"{recorded}.json").read_text(encoding="utf-8"))
        self.first: dict[str, Any] = told.pop("/live")[0]
        self.answers: dict[str, Any] = told
        self.asked: list[tuple[str, str, Any]] = []
        self.streams: list[queue.Queue[dict[str, Any] | None]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.is_away = False

    def __enter__(self) -> FakeServer:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end_streams()
        self.shutdown()
        self.server_close()

    def tell(self, told: dict[str, Any]) -> None:
        """One message to every page that listens; its ``seq`` is the test's own affair."""
        for stream in self.streams:
            stream.put(told)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that goes away leaves requests behind."""

    def end_streams(self) -> None:
        for stream in self.streams:
            stream.put(None)

    def changed(self, name: str, **values: Any) -> dict[str, Any]:
        """A job of the snapshot with other values, in the snapshot as well."""
        own = next(one for one in self.first["jobs"] if one["name"] == name)
        own.update(values)
        return copy.deepcopy(own)


class _Handler(BaseHTTPRequestHandler):
    server: FakeServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/api/v1/live":
            self._live()
        elif parts.path.startswith("/api/v1"):
            self._api(parts.path.removeprefix("/api/v1"), parse_qs(parts.query))
        else:
            self._file("index.html" if parts.path == "/" else parts.path.removeprefix("/page/"))

    do_POST = do_PATCH = do_DELETE = do_PUT = do_GET  # noqa: N815

    def _api(self, path: str, query: dict[str, list[str]]) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        self.server.asked.append((self.command, path, body))
        found = self.server.answers.get(unquote(path))
        if found is None:
            self._send(404, {"title": "Not Found", "status": 404})
        elif callable(found):
            self._send(*found(self.command, query, body))
        else:
            self._send(200, found)

    def _send(self, status: int, told: Any) -> None:
        self._answer(status, b"" if told is None else json.dumps(told).encode(), "application/json")

    def _answer(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _file(self, name: str) -> None:
        path = PAGE / name
        if not path.is_file():
            self._answer(404, b"", "text/plain")
            return
        self._answer(200, path.read_bytes(), mimetypes.guess_type(name)[0] or "text/plain")

    def _live(self) -> None:
        if self.server.is_away:
            self._send(503, {})
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        told: queue.Queue[dict[str, Any] | None] = queue.Queue()
        query = parse_qs(urlsplit(self.path).query)
        first = {**copy.deepcopy(self.server.first), "seq": 0}
        watched = self.server.answers.get(f"/deployments/{query['watch'][0]}") if "watch" in query else None
        first["watched"] = watched["jobs"] if watched else None
        self.server.streams.append(told)
        try:
            self._event("snapshot", first)
            while (one := told.get()) is not None:
                self._event("delta", one)
        except OSError:
            pass
        finally:
            self.server.streams.remove(told)

    def _event(self, kind: str, told: dict[str, Any]) -> None:
        self.wfile.write(f"retry: 200\nevent: {kind}\ndata: {json.dumps(told)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that the standard library gives it
        pass
