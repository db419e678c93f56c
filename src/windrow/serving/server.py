"""The server: a few threads of the standard library that answer while a job runs and never keep its process from ending."""

from __future__ import annotations

import errno
import hmac
import logging
import os
import socket
import socketserver
import stat
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from windrow.errors import UsageError
from windrow.observe.status import JobStatus
from windrow.serving.address import BAD_ADDRESS, IN_USE, Listen, is_local_name
from windrow.serving.endpoints import STALLED_AFTER, Answer, Endpoints, Pausing, problem

LOG = logging.getLogger(__name__)
# A client that sends nothing more for so long is let go, and so many are served at once.
IDLE_SECONDS, MOST_REQUESTS = 30.0, 32
_MOST_BODY = 1 << 16


class _Handler(BaseHTTPRequestHandler):
    server: _Server | _UnixServer
    server_version, sys_version = "windrow", ""
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_HEAD = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_GET  # noqa: N815

    def _serve(self) -> None:
        try:
            self._send(self._answer())
        except (BrokenPipeError, ConnectionResetError, TimeoutError):
            self.close_connection = True

    def _answer(self) -> Answer:
        if not self._read_body():
            self.close_connection = True
            return problem(413, "the body of the request is too large")
        refused = self.server.serving.refusal(self.headers.get("Host"), self.headers.get("Authorization"))
        if refused is not None:
            return refused
        parts = urlsplit(self.path)
        try:
            return self.server.serving.endpoints.answer(
                self.command, parts.path, dict(parse_qsl(parts.query)), self.headers.get("Accept", "")
            )
        except Exception:
            LOG.exception("a request for %s failed", parts.path)
            return problem(500, "this could not be answered; the log of the job says why")

    def _read_body(self) -> bool:
        """What a client sends is not looked at, but must be out of the way of its next request."""
        text = self.headers.get("Content-Length", "0")
        length = int(text) if text.isdecimal() else _MOST_BODY + 1
        if length > _MOST_BODY or self.headers.get("Transfer-Encoding"):
            return False
        self.rfile.read(length)
        return True

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        headers = {"Content-Type": answer.content_type, "Content-Length": str(len(answer.body)), "Cache-Control": "no-store"}
        for name, value in {**headers, "X-Content-Type-Options": "nosniff", **(answer.headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that the standard library gives it
        LOG.debug(format, *args)


class _Limited(socketserver.ThreadingMixIn):
    """Threads that do not keep the process alive, and not more of them than are good for a job."""

    daemon_threads = True
    block_on_close = False
    serving: Serving

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._free = threading.BoundedSemaphore(MOST_REQUESTS)
        super().__init__(*args, **kwargs)

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)  # type: ignore[attr-defined]  # of the server it is mixed into
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - the shape of the hook
        LOG.debug("a connection ended early", exc_info=True)


class _Server(_Limited, ThreadingHTTPServer):
    allow_reuse_address = True
    # Two jobs on one port would each answer for the other.
    allow_reuse_port = False

    def server_bind(self) -> None:
        """Without the look-up of the host's own name that the standard library makes, which may take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])


class _SixServer(_Server):
    address_family = socket.AF_INET6


class _UnixServer(_Limited, socketserver.ThreadingUnixStreamServer):
    server_name, server_port = "localhost", 0

    def server_bind(self) -> None:
        """The socket is its owner's from the first moment."""
        before = os.umask(0o177)
        try:
            super().server_bind()
        finally:
            os.umask(before)

    def get_request(self) -> tuple[Any, Any]:
        request, _ = super().get_request()
        # The standard library shows a client by its address, and this one has none.
        return request, ("unix", 0)


class Serving:
    """Open from the first moment on; ``watch`` says whom to ask once there are jobs, of one file or several."""

    def __init__(self, listen: Listen, stalled_after: float = STALLED_AFTER) -> None:
        self.listen = listen
        self._asked: list[Callable[[], Sequence[JobStatus]]] = []
        self._closing = threading.Event()
        # Only who may open the socket's file may tell the jobs to pause.
        self.pausing = Pausing() if listen.path is not None else None
        self.endpoints = Endpoints(self._statuses, self._closing, stalled_after, self.pausing)
        self._server = _opened(listen)
        self._server.serving = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="windrow-listen", daemon=True)
        self._thread.start()

    def watch(self, ask: Callable[[], Sequence[JobStatus]]) -> None:
        """The jobs of one more file."""
        self._asked.append(ask)

    def unwatch(self) -> None:
        """The jobs so far are over; others will take their place."""
        self._asked = []

    def _statuses(self) -> Sequence[JobStatus]:
        return [status for ask in self._asked for status in ask()]

    @property
    def address(self) -> str:
        """Where it can be reached: with port 0, the one that was free."""
        if self.listen.path is not None:
            return str(self.listen)
        return str(Listen(self.listen.host, self._server.server_port))

    def refusal(self, host: str | None, authorization: str | None) -> Answer | None:
        """Why a request is not answered; None where it is."""
        if self.listen.is_loopback and not is_local_name(host):
            return problem(403, "this job answers to the names of this machine only", "ask for localhost or 127.0.0.1")
        if self.listen.token is None:
            return None
        scheme, _, given = (authorization or "").partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self.listen.token.encode()):
            return None
        found = problem(401, "a token is needed", "Authorization: Bearer TOKEN")
        return Answer(found.status, found.body, found.content_type, {"WWW-Authenticate": "Bearer"})

    def close(self) -> None:
        """End at once: whoever waits for an answer is told so, and nobody is waited for."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        if self.listen.path is not None:
            Path(self.listen.path).unlink(missing_ok=True)


def _opened(listen: Listen) -> _Server | _UnixServer:
    try:
        if listen.path is not None:
            _remove_dead_socket(listen.path)
            return _UnixServer(listen.path, _Handler)
        kind = _SixServer if ":" in listen.host else _Server
        return kind((listen.host, listen.port), _Handler)
    except OSError as error:
        raise _explained(listen, error) from error


def _remove_dead_socket(path: str) -> None:
    """A socket that a killed process left behind; one that somebody listens on stays."""
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)


def _explained(listen: Listen, error: OSError) -> UsageError:
    where = f"{listen.host}:{listen.port}" if listen.path is None else f"unix:{listen.path}"
    if error.errno == errno.EADDRINUSE:
        hint = "another job may listen there: choose another port, or --listen 127.0.0.1:0 for any that is free"
        return UsageError(IN_USE, f"--listen {where}: somebody listens there already", hint)
    reason = error.strerror or str(error)
    return UsageError(BAD_ADDRESS, f"--listen {where} cannot be opened: {reason}", "--listen 127.0.0.1:9464")
