"""Where a server listens, over which folder, and what its client says of one that is not there."""

from __future__ import annotations

import http.server
import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from windrow.errors import JobError, UsageError, WindrowError
from windrow.server.app import PAGE
from windrow.server.client import Client
from windrow.server.serve import ServeRequest, serve


def refusal(request: ServeRequest) -> WindrowError:
    with pytest.raises(WindrowError) as raised:
        serve(request, lambda address, token: pytest.fail(f"it serves on {address}"))
    return raised.value


def test_other_addresses_need_tls(tmp_path: Path) -> None:
    assert refusal(ServeRequest(tmp_path, "0.0.0.0")).code == "WR930"
    assert refusal(ServeRequest(tmp_path, certificate=tmp_path / "cert.pem")).code == "WR930"
    assert not (tmp_path / "registry.db").exists()


def test_one_server_has_a_folder(tmp_path: Path) -> None:
    import fcntl

    with open(tmp_path / "server.lock", "w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert refusal(ServeRequest(tmp_path, port=0)).code == "WR931"


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        error = refusal(ServeRequest(tmp_path, port=port))
    assert error.code == "WR932"
    assert f"127.0.0.1:{port}" in error.message


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(UsageError) as raised:
        Client(f"http://127.0.0.1:{port}", "a token").jobs()
    assert raised.value.code == "WR933"
    with pytest.raises(UsageError) as raised:
        Client("localhost:8484", "a token")
    assert raised.value.code == "WR933"


def test_an_answer_without_a_code_is_an_error() -> None:
    class Broken(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(500)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    broken = http.server.HTTPServer(("127.0.0.1", 0), Broken)
    threading.Thread(target=broken.handle_request, daemon=True).start()
    with pytest.raises(JobError) as raised:
        Client(f"http://127.0.0.1:{broken.server_port}", "a token").jobs()
    assert (raised.value.code, raised.value.message) == ("WR934", "the server answered 500")
    broken.server_close()


def test_the_page_names_no_other_host() -> None:
    for path in [*PAGE.glob("*.*"), *PAGE.glob("views/*.js")]:
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text, path
        assert "https://" not in text, path
