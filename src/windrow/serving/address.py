"""Where a job listens: an address that is understood, and safe to open."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass, field
from pathlib import Path

from windrow.errors import UsageError

BAD_ADDRESS, IN_USE, NO_TOKEN, BAD_TOKEN = "WR631", "WR632", "WR633", "WR634"
EXAMPLE = "127.0.0.1:9464"
UNIX = "unix:"
_LEAST_TOKEN = 16
_FORM = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^:\[\]/]*)):(?P<port>\d{1,5})")


@dataclass(frozen=True)
class Listen:
    """A host and port, or the ``path`` of a Unix socket, which its owner alone may use. ``token`` is what every request must bring."""

    host: str = ""
    port: int = 0
    path: str | None = None
    token: str | None = field(default=None, repr=False)

    @property
    def is_loopback(self) -> bool:
        return self.path is None and is_loopback(self.host)

    def __str__(self) -> str:
        return f"{UNIX}{self.path}" if self.path is not None else f"http://{_bracketed(self.host)}:{self.port}"


def parse_listen(text: str, token: str | None = None, token_file: str | Path | None = None) -> Listen:
    """What ``--listen`` names. An address that others can reach needs a token.

    >>> parse_listen("127.0.0.1:9464").port
    9464
    """
    found = _address(text)
    secret = _token(token, token_file)
    if found.path is None and not found.is_loopback and secret is None:
        raise UsageError(
            NO_TOKEN,
            f"--listen {text} can be reached from other machines, and no token is given",
            "--listen-token-file FILE names a file with a token, WINDROW_LISTEN_TOKEN holds one; or listen on 127.0.0.1",
        )
    return Listen(found.host, found.port, found.path, secret)


def _address(text: str) -> Listen:
    if text.startswith(UNIX):
        path = text.removeprefix(UNIX)
        if not path or not hasattr(socket, "AF_UNIX"):
            raise _bad(text, "names no socket")
        return Listen(path=path)
    found = _FORM.fullmatch(text)
    if found is None:
        raise _bad(text, "is no address")
    host, port = found["six"] or found["host"] or "", int(found["port"])
    if not host:
        raise _bad(text, "names no host: say which addresses may reach the job")
    if port > 65535:
        raise _bad(text, f"has the port {port}, and the greatest is 65535")
    return Listen(host, port)


def _bad(text: str, why: str) -> UsageError:
    return UsageError(BAD_ADDRESS, f"--listen {text} {why}", f"--listen {EXAMPLE}, or --listen {UNIX}/run/windrow/job.sock")


def _token(token: str | None, file: str | Path | None) -> str | None:
    if file is not None:
        try:
            token = Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise UsageError(BAD_TOKEN, f"the token file {file} cannot be read: {reason}", f"openssl rand -hex 32 > {file}") from error
    if token is None:
        return None
    token = token.strip()
    if len(token) < _LEAST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        where = f"the token in {file}" if file is not None else "the token in WINDROW_LISTEN_TOKEN"
        message = f"{where} is none: {_LEAST_TOKEN} or more ASCII characters without spaces"
        raise UsageError(BAD_TOKEN, message, "openssl rand -hex 32 makes one")
    return token


def is_loopback(host: str) -> bool:
    """
    >>> [is_loopback(host) for host in ("localhost", "127.0.0.9", "::1", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_local_name(header: str | None) -> bool:
    """Whether the Host header of a request names this machine. A page from elsewhere that reaches loopback names its own.

    >>> [is_local_name(header) for header in ("127.0.0.1:9464", "localhost", "[::1]:9464", "evil.example:9464", None)]
    [True, True, True, False, False]
    """
    if not header:
        return False
    host = header[1:].partition("]")[0] if header.startswith("[") else header.partition(":")[0]
    return is_loopback(host)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
