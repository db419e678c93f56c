"""``windrow serve``: the server of many jobs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def serve(
    host: Annotated[str, typer.Option("--host", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes a free one.")] = 8484,
    data: Annotated[
        Path | None, typer.Option("--data", help="Where jobs, their state and the registry are kept.", metavar="FOLDER", show_default=False)
    ] = None,
    hosts: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host", help="Another name by which the server may be called; repeatable.", metavar="NAME", show_default=False
        ),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option("--tls-certificate", help="A PEM file; needed on other addresses.", metavar="FILE", show_default=False)
    ] = None,
    key: Annotated[Path | None, typer.Option("--tls-key", help="The key of the certificate.", metavar="FILE", show_default=False)] = None,
    master: Annotated[str | None, typer.Option("--master", help="Spark master of the jobs.", metavar="URL", show_default=False)] = None,
) -> None:
    """Keep many jobs running, with a web page and an HTTP API. Jobs go on when the server ends, and are found again."""
    from windrow.server.client import default_data
    from windrow.server.serve import ServeRequest
    from windrow.server.serve import serve as run_server

    def tell(address: str, token: Path) -> None:
        print(f"Windrow serves on {address}\nthe first token is in {token}", flush=True)

    words = ["--master", master] if master else []
    run_server(ServeRequest(data or default_data(), host, port, tuple(hosts or ()), certificate, key, words), tell)
    print("the server has ended; jobs that ran go on", file=sys.stderr)
