"""From the arguments of ``windrow serve`` to a server that answers, and to its end."""

from __future__ import annotations

import fcntl
import ipaddress
import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from windrow.errors import UsageError
from windrow.server.admission import Limits
from windrow.server.alert_settings import FILE_NAME, AlertSettings, read_alert_settings
from windrow.server.database import is_database_url
from windrow.server.processes import Processes
from windrow.server.reconciler import Reconciler
from windrow.server.registry import Registry
from windrow.server.service import Service, facts_of
from windrow.server.tokens import admin_token
from windrow.settings import environment

REGISTRY = "registry.db"
_GRACE = 3


@dataclass(frozen=True)
class ServeRequest:
    """``job_arguments`` are given to ``windrow run`` of every job; ``submit`` starts them through a cluster's own program.

    ``registry`` is the URL of a PostgreSQL database; a file of SQLite in the folder if there is none. ``rate`` is requests a second.
    """

    data: Path
    host: str = "127.0.0.1"
    port: int = 8484
    hosts: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    job_arguments: Sequence[str] = ()
    submit: Sequence[str] = ()
    registry: str | None = None
    limits: Limits = field(default_factory=Limits)
    rate: float = 100.0
    # The file that says who is told of alerts; where none is given, the one in the folder, if it is there.
    alerts: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_loopback(self) -> bool:
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    def address_at(self, port: int) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.certificate else 'http'}://{host}:{port}"


def serve(request: ServeRequest, tell: Callable[[str, Path], None]) -> None:
    """Until a signal. ``tell`` is given the address of the page and the file of the first token, once the server answers."""
    _check(request)
    import uvicorn

    from windrow.server.api.security import Rate
    from windrow.server.app import LOOPBACK, make_app

    request.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _alone(request.data), _listening(request) as listener:
        registry = Registry(request.registry or request.data / REGISTRY)
        jobs = request.data.absolute() / "jobs"
        processes = Processes(request.job_arguments, request.submit)
        reconciler = Reconciler(jobs, registry, processes, limits=request.limits, facts=facts_of(registry))
        hosts = LOOPBACK | {request.host.lower(), *(host.lower() for host in request.hosts)}
        port = listener.getsockname()[1]
        told = _told(request, port)
        rate = Rate(request.rate, 3 * request.rate, request.rate / 5)
        app = make_app(Service(jobs, registry, reconciler), hosts, rate, told, request.settings)
        token = admin_token(registry, request.data)
        reconciler.mended = lambda: admin_token(registry, request.data)
        reconciler.begin()
        app.state.changing.begin()
        app.state.alerting.begin()
        app.state.notifier.begin()
        tell(request.address_at(port), token)
        config = uvicorn.Config(
            app,
            log_level="warning",
            timeout_graceful_shutdown=_GRACE,
            ssl_certfile=request.certificate,
            ssl_keyfile=request.key,
            server_header=False,
            # Behind a proxy the client is whom the proxy names; without one anybody could name another at every request.
            proxy_headers=bool(request.hosts),
        )
        server = uvicorn.Server(config)
        exit_as_before = server.handle_exit

        def handle_exit(number: int, frame: FrameType | None) -> None:
            # Open event streams would hold the end up.
            app.state.closing.set()
            exit_as_before(number, frame)

        server.handle_exit = handle_exit  # type: ignore[method-assign, assignment]
        try:
            server.run(sockets=[listener])
        finally:
            app.state.closing.set()
            app.state.changing.close()
            app.state.alerting.close()
            app.state.notifier.close()
            reconciler.close()
            registry.close()


def _told(request: ServeRequest, port: int) -> AlertSettings:
    beside = request.data / FILE_NAME
    path = request.alerts or (beside if beside.exists() else None)
    found = AlertSettings() if path is None else read_alert_settings(path, environment())
    return found if found.page else found.model_copy(update={"page": request.address_at(port)})


def _check(request: ServeRequest) -> None:
    if request.registry is not None and not is_database_url(request.registry):
        raise UsageError("WR920", f"--registry {request.registry} is no database", "--registry postgresql://user:password@host/database")
    if (request.certificate is None) != (request.key is None):
        raise UsageError("WR930", "TLS needs a certificate and its key", "--tls-certificate cert.pem --tls-key key.pem")
    for path in (request.certificate, request.key):
        if path is not None and not path.is_file():
            raise UsageError("WR930", f"there is no file {path}", "name the PEM file of the certificate, and that of its key")
    if not request.is_loopback and request.certificate is None:
        raise UsageError(
            "WR930",
            f"--host {request.host} can be reached from other machines, and tokens would cross the network unprotected",
            "give --tls-certificate and --tls-key, or listen on 127.0.0.1 behind a proxy that has TLS (--allow-host NAME)",
        )


@contextmanager
def _alone(data: Path) -> Iterator[None]:
    """Two servers over one folder would start every job twice; the leases of the jobs would stop the second, but late."""
    descriptor = os.open(data / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise UsageError("WR931", f"another server runs over {data}", "stop it, or name another folder with --data") from None
    finally:
        os.close(descriptor)


@contextmanager
def _listening(request: ServeRequest) -> Iterator[socket.socket]:
    """The port is taken before anything starts."""
    family = socket.AF_INET6 if ":" in request.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((request.host, request.port))
        # Whoever is told the address may call at once, and waits until the server is ready.
        listener.listen(128)
    except OSError as error:
        listener.close()
        hint = f"--port {request.port + 1}, or end the other program"
        raise UsageError("WR932", f"{request.host}:{request.port} cannot be listened on: {error.strerror}", hint) from error
    try:
        yield listener
    finally:
        listener.close()
