"""``windrow demo --server``: a server with three jobs over made-up rows, until Ctrl-C; nothing of it stays."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path

from windrow.errors import WindrowError

# In this order: the second reads what the first writes.
JOBS = ("shop", "board", "machines")
SAYS = """
Windrow serves on {address}
sign in with     {token}

Three jobs over made-up rows are starting; each starts a Spark of its own, so rows flow in half a minute or so:
  shop      revenue of each country and minute; some orders are late, some are broken
  board     adds up what shop writes
  machines  windows of five minutes that slide by one
Try: the map, a box of the topology, "why open?" of a window, a dead letter, another text for shop with its plan.
Ctrl-C ends the server and the jobs, and removes what they wrote.
"""
_PATIENCE = 45.0


def run_server_demo(port: int = 8484) -> None:
    from windrow.server.serve import ServeRequest, serve

    with tempfile.TemporaryDirectory(prefix="windrow-demo-", ignore_cleanup_errors=True) as folder:
        data, written = Path(folder, "server"), Path(folder, "written")
        # What the second job reads is there before the first has written anything.
        (written / "revenue").mkdir(parents=True)
        request = ServeRequest(data, port=_free(port), job_arguments=("--master", "local[1]", "--set", "spark.driver.memory=512m"))
        try:
            serve(request, lambda address, token: _begin(address, token.read_text(encoding="utf-8").strip(), written))
        except KeyboardInterrupt:
            pass
        finally:
            print("ending the jobs ...", flush=True)
            _end_jobs(data / "jobs")
    print("the demo is over, and nothing of it is left")


def _free(port: int) -> int:
    """Another one where somebody has it: a demo is to start."""
    import socket

    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return 0
    return port


def _begin(address: str, token: str, written: Path) -> None:
    print(SAYS.format(address=address, token=token), flush=True)
    threading.Thread(target=_deploy, args=(address, token, written), name="windrow-demo", daemon=True).start()


def _deploy(address: str, token: str, written: Path) -> None:
    from windrow.server.client import Client

    client, deadline = Client(address, token), time.monotonic() + _PATIENCE
    for name, sql in demo_texts(written, datetime.now(UTC)).items():
        while True:
            try:
                client.deploy(name, sql, "the first of the demo")
                break
            except WindrowError as error:
                # The server begins to answer a moment after it has said so.
                if error.code != "WR933" or time.monotonic() > deadline:
                    print(f"{name} is not deployed: {error}", flush=True)
                    break
                time.sleep(0.1)


def demo_texts(written: Path, now: datetime) -> dict[str, str]:
    """The made-up rows begin some hours ago and come faster than time goes by: windows close while one looks."""
    begins = (now - timedelta(hours=6)).strftime("%Y-%m-%dT%H:%M:00Z")
    told = {name: files("windrow.cli").joinpath("demo_jobs", f"{name}.sql").read_text(encoding="utf-8") for name in JOBS}
    return {name: sql.replace("${DEMO_FOLDER}", str(written)).replace("${DEMO_START}", begins) for name, sql in told.items()}


def _end_jobs(root: Path) -> None:
    """Each by its own note; those that have not ended after a while are killed."""
    from windrow.server.job_folders import job_folders
    from windrow.server.processes import known_process, signal_process

    left = [process for folder in job_folders(root) if (process := known_process(folder)) is not None and process.is_alive]
    for process in left:
        signal_process(process, signal.SIGTERM)
    deadline = time.monotonic() + _PATIENCE
    with contextlib.suppress(KeyboardInterrupt):
        while (left := [one for one in left if one.is_alive]) and time.monotonic() < deadline:
            for one in left:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(one.host.pid, os.WNOHANG)
            time.sleep(0.2)
    for one in left:
        signal_process(one, signal.SIGKILL)
