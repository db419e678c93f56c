"""``windrow serve``: the server of many jobs."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from windrow.cli.arguments import Settings
from windrow.errors import UsageError


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
    settings: Settings = None,
    registry: Annotated[
        str | None,
        typer.Option("--registry", help="A PostgreSQL database in the place of a file.", metavar="URL", show_default=False),
    ] = None,
    max_jobs: Annotated[int | None, typer.Option("--max-jobs", min=1, help="How many run at once.", show_default=False)] = None,
    max_memory: Annotated[
        str | None,
        typer.Option("--max-memory", help="For all of them, by their settings.", metavar="8g", show_default=False),
    ] = None,
    spark_submit: Annotated[
        str | None,
        typer.Option(
            "--spark-submit",
            help="The spark-submit of a cluster: jobs are started by it, their drivers on this machine.",
            metavar="COMMAND",
            show_default=False,
        ),
    ] = None,
    alerts: Annotated[
        Path | None,
        typer.Option(
            "--alerts",
            help="A file that says who is told of alerts; else alerts.yaml in the folder of --data.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    rate_limit: Annotated[float, typer.Option("--rate-limit", min=1.0, help="Requests a second of one client.")] = 100.0,
) -> None:
    """Keep many jobs running, with a web page and an HTTP API. Jobs go on when the server ends, and are found again."""
    from windrow.cli.set_options import read_settings
    from windrow.server.admission import Limits, parse_size
    from windrow.server.client import default_data
    from windrow.server.serve import ServeRequest
    from windrow.server.serve import serve as run_server

    def tell(address: str, token: Path) -> None:
        print(f"Windrow serves on {address}\nthe first token is in {token}", flush=True)

    given = read_settings(settings or [])
    words = [*(["--master", master] if master else []), *(word for one in settings or [] for word in ("--set", one))]
    request = ServeRequest(
        data=data or default_data(),
        host=host,
        port=port,
        hosts=tuple(hosts or ()),
        certificate=certificate,
        key=key,
        job_arguments=words,
        submit=_submit(spark_submit, master),
        registry=registry,
        limits=Limits(max_jobs, None if max_memory is None else parse_size(max_memory, "--max-memory")),
        rate=rate_limit,
        alerts=alerts,
        settings=given,
    )
    run_server(request, tell)
    print("the server has ended; jobs that ran go on", file=sys.stderr)


def _submit(command: str | None, master: str | None) -> list[str]:
    """The driver runs here, beside the server; the executors where the cluster has them."""
    if command is None:
        return []
    words = shlex.split(command)
    found = shutil.which(words[0]) if words else None
    if found is None:
        raise UsageError("WR930", f"there is no program {words[0] if words else command!r}", "--spark-submit /opt/spark/bin/spark-submit")
    return [found, *words[1:], "--deploy-mode", "client", *(["--master", master] if master else [])]
