"""Where a server listens, over which folder, and what its client says of one that is not there."""

from __future__ import annotations

import http.client
import http.server
import itertools
import json
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

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


def test_the_page_and_the_api_are_answered_over_tls(tmp_path: Path) -> None:
    """A server of its own, on a real socket: who trusts the certificate is answered, and nobody without TLS."""
    certificate, key = self_signed(tmp_path)
    words = ["serve", "--data", str(tmp_path / "data"), "--port", "0", "--tls-certificate", str(certificate), "--tls-key", str(key)]
    with subprocess.Popen([sys.executable, "-m", "windrow", *words], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        try:
            port = port_of(server)
            trusting = ssl.create_default_context(cafile=str(certificate))
            token = (tmp_path / "data" / "admin-token").read_text().strip()
            asked = urllib.request.Request(f"https://localhost:{port}/api/v1/me", headers={"Authorization": f"Bearer {token}"})
            with urllib.request.urlopen(asked, context=trusting, timeout=30) as answer:
                assert (answer.status, "admin" in answer.read().decode()) == (200, True)
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"https://localhost:{port}/api/v1/me", context=trusting, timeout=30)
            assert refused.value.code == 401
            with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
                urllib.request.urlopen(asked, timeout=30)
            with pytest.raises((OSError, http.client.HTTPException)):
                urllib.request.urlopen(f"http://localhost:{port}/health/live", timeout=30)
            cookie = signed_in(port, trusting, token)
            assert "Secure" in cookie
            assert "HttpOnly" in cookie
        finally:
            server.terminate()
        assert server.wait(30) in (0, -signal.SIGTERM)


def self_signed(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = (
        made.serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    )
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
    signed = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True).sign(key, hashes.SHA256())
    certificate, secret = folder / "cert.pem", folder / "key.pem"
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    secret.write_bytes(key.private_bytes(*plain))
    return certificate, secret


def port_of(server: subprocess.Popen[str]) -> int:
    """Of the address that it prints."""
    assert server.stderr is not None
    assert server.stdout is not None
    for line in itertools.chain(server.stdout, server.stderr):
        if found := re.search(r"https://\S+:(\d+)", line):
            return int(found[1])
    pytest.fail("it ended without telling its address")


def signed_in(port: int, context: ssl.SSLContext, token: str) -> str:
    """The cookie that the page gets for a token."""
    body = json.dumps({"token": token}).encode()
    headers = {"Content-Type": "application/json", "Origin": f"https://localhost:{port}"}
    asked = urllib.request.Request(f"https://localhost:{port}/api/v1/session", body, headers)
    with urllib.request.urlopen(asked, context=context, timeout=30) as answer:
        return str(answer.headers["Set-Cookie"])
