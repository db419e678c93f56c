"""A job that only says that it runs. Two of one folder at once leave a note of it: python -m tests.chaos.light_job FOLDER SOCKET."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import socketserver
import sys
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import FrameType

from tests.unit.serving.statuses import status
from windrow.observe.prometheus import exposition, registry_of

TWICE, LIVES = "twice", "lives"
BEGAN = time.time()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        own = status(batch_id=int(time.time() - BEGAN), started_at=BEGAN, committed_at=time.time())
        if self.path == "/metrics":
            kind, body = exposition(registry_of(lambda: [own]), "")
        else:
            kind, body = "application/json", json.dumps({"jobs": [own.to_json()], "paused": False}, default=str).encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815

    def address_string(self) -> str:
        return "a socket"

    def log_message(self, *_: object) -> None:
        pass


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


def main() -> None:
    folder, where = Path(sys.argv[1]), Path(sys.argv[2])
    lock = os.open(folder / LIVES, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        (folder / TWICE).write_text(f"{os.getpid()} began while another ran\n")

    def end(*_: int | FrameType | None) -> None:
        sys.exit(0)

    signal.signal(signal.SIGTERM, end)
    where.unlink(missing_ok=True)
    assert hasattr(socket, "AF_UNIX")
    with Server(str(where), Handler) as server:
        server.serve_forever(poll_interval=0.1)


if __name__ == "__main__":
    main()
