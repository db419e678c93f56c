"""``windrow deploy``, ``list``, ``status``, ``stop``, ``start``, ``restart``, ``logs``: a server's jobs from the command line."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from windrow.cli.arguments import Env, SqlFile

if TYPE_CHECKING:
    from windrow.server.client import Client

Name = Annotated[str, typer.Argument(help="The name of a job.", show_default=False)]
Server = Annotated[str, typer.Option("--server", help="The address of the server.", metavar="URL")]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        help="A file with a token; else WINDROW_TOKEN, else that of a server of your own.",
        metavar="FILE",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]
Wait = Annotated[bool, typer.Option("--wait/--no-wait", help="Whether to wait until it has come to that.")]
LOCAL = "http://127.0.0.1:8484"
_PATIENCE = 180.0
_SETTLED = {
    "running": ("running", "waiting", "queued", "failed", "ended"),
    "stopped": ("stopped", "failed", "ended"),
    "paused": ("paused", "failed"),
}


def deploy(
    file: SqlFile,
    name: Annotated[str | None, typer.Option("--name", help="The job's name; that of the file where left out.", show_default=False)] = None,
    message: Annotated[str, typer.Option("--message", "-m", help="What changes, for the history.", show_default=False)] = "",
    env: Env = None,
    server: Server = LOCAL,
    token_file: TokenFile = None,
    wait: Wait = True,
) -> None:
    """Give a file to a server, as a new job or as a new version of one, and run it there."""
    from windrow.cli.files import stem
    from windrow.cli.sending import parcel_of

    client, chosen, parcel = client_of(server, token_file), name or stem(file), parcel_of(file)
    job = client.deploy(chosen, parcel.sql, message, env=env or "", project=parcel.project, files=parcel.files)
    print(f"{job['name']}: version {job['version']} is deployed")
    if wait:
        _await(client, job["name"], "running")


def list_jobs(server: Server = LOCAL, token_file: TokenFile = None, as_json: AsJson = False) -> None:
    """List the jobs of a server."""
    jobs = client_of(server, token_file).jobs()
    if as_json:
        print(json.dumps(jobs))
        return
    rows = [("job", "state", "version", "rows in", "dead letters", "why")]
    rows += [
        (j["name"], j["observed"], str(j["version"]), _sum(j, "rows_in"), _sum(j, "dead_letters"), j["why"].split("\n")[0]) for j in jobs
    ]
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def status(name: Name, server: Server = LOCAL, token_file: TokenFile = None, as_json: AsJson = False) -> None:
    """Show how a job of a server is."""
    job = client_of(server, token_file).job(name)
    if as_json:
        print(json.dumps(job))
        return
    print(_sentence(job))
    for one in job["jobs"]:
        counts = f"{one['rows_in']:,} rows in, {one['emitted']:,} out, {one['dead_letters']:,} dead letters"
        print(f"  {one['job']}: batch {one['batch_id']}, {counts}")


def stop(name: Name, server: Server = LOCAL, token_file: TokenFile = None, wait: Wait = True) -> None:
    """Stop a job of a server; it goes on from there when it is started again."""
    _wish(client_of(server, token_file), name, "stopped", wait)


def start(name: Name, server: Server = LOCAL, token_file: TokenFile = None, wait: Wait = True) -> None:
    """Start a job of a server that was stopped, has failed or has ended."""
    _wish(client_of(server, token_file), name, "running", wait)


def pause(name: Name, server: Server = LOCAL, token_file: TokenFile = None, wait: Wait = True) -> None:
    """Stop a job of a server after its batch and keep its Spark ready; windrow start goes on at once."""
    _wish(client_of(server, token_file), name, "paused", wait)


def restart(name: Name, server: Server = LOCAL, token_file: TokenFile = None) -> None:
    """Stop a job of a server and start it again."""
    client_of(server, token_file).restart(name)
    print(f"{name} is being restarted")


def logs(
    name: Name,
    server: Server = LOCAL,
    token_file: TokenFile = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, max=5000, help="How many, from the end.")] = 100,
) -> None:
    """Print the end of the log of a server's job."""
    for line in client_of(server, token_file).log(name, lines):
        print(line)


def _wish(client: Client, name: str, desired: str, wait: bool) -> None:
    {"running": client.start, "stopped": client.stop, "paused": client.pause}[desired](name)
    if wait:
        _await(client, name, desired)
    else:
        print(f"{name} is to be {desired}")


def _await(client: Client, name: str, desired: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    job = client.job(name)
    while job["observed"] not in _SETTLED[desired] and time.monotonic() < deadline:
        time.sleep(0.3)
        job = client.job(name)
    print(_sentence(job))
    if job["observed"] == "failed":
        raise typer.Exit(1)


def client_of(server: str, token_file: Path | None) -> Client:
    from windrow.errors import UsageError
    from windrow.server.client import Client
    from windrow.settings import load_settings

    if token_file is None:
        return Client(server, load_settings().token)
    try:
        return Client(server, token_file.read_text(encoding="utf-8").strip())
    except OSError as error:
        raise UsageError("WR928", f"{token_file} cannot be read: {error.strerror}", "--token-file names a file with a token") from error


def _sentence(job: Mapping[str, Any]) -> str:
    since = datetime.fromtimestamp(job["changed_at"] / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    why = f": {job['why']}" if job["why"] else ""
    return f"{job['name']}: {job['observed']} (version {job['version']}, since {since} UTC){why}"


def _sum(job: Mapping[str, Any], key: str) -> str:
    return f"{sum(one[key] for one in job['jobs']):,}" if job["jobs"] else "-"
