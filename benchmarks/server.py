"""What a server with twenty jobs takes for an answer, and whether its memory stays: light jobs in the place of Spark. Prints JSON.

    python -m benchmarks.server [SECONDS]

Jobs say of themselves what real ones do, and change once a second. Four clients ask the API while a page's stream is open, ten requests a
second each; the figures are those of the server and of the loopback.
"""

from __future__ import annotations

import http.client
import json
import os
import platform
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from windrow.server.client import Client
from windrow.server.job_folders import job_folders
from windrow.server.processes import known_process, signal_process

JOBS, CLIENTS, PAUSE = 20, 4, 0.1
SQL = """CREATE STREAM t (k STRING, v INT) WITH ('connector' = 'generator');
SELECT k, SUM(v) AS total FROM t GROUP BY k;
"""
# What a page asks, by how often it is asked.
PATHS = (
    "/api/v1/pipelines",
    "/api/v1/events?most=100",
    "/api/v1/alerts",
    "/api/v1/deployments/job07",
    "/api/v1/deployments/job07/topology",
    "/api/v1/deployments/job07/batches",
    "/api/v1/pipelines/job07/versions",
    "/",
    "/page/main.js",
)


class Load:
    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token
        self.times: dict[str, list[float]] = {path: [] for path in PATHS}
        self.wrong: list[str] = []
        self.told = 0
        self.ends = threading.Event()

    def ask(self, seed: int) -> None:
        chance = random.Random(seed)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        while not self.ends.is_set():
            path, began = chance.choice(PATHS), time.perf_counter()
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            answer.read()
            self.times[path].append(time.perf_counter() - began)
            if answer.status != 200:
                self.wrong.append(f"{path}: {answer.status}")
            self.ends.wait(PAUSE)

    def watch(self) -> None:
        """The stream of a page."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", "/api/v1/live", headers={"Authorization": f"Bearer {self.token}"})
        answer = connection.getresponse()
        while not self.ends.is_set() and (line := answer.readline()):
            self.told += line.startswith(b"event: delta")


def resident(pid: int) -> float:
    """MiB."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def figures(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {
        "requests": len(ordered),
        "p50_ms": round(statistics.median(ordered) * 1000, 1),
        "p95_ms": round(ordered[int(len(ordered) * 0.95)] * 1000, 1),
        "greatest_ms": round(ordered[-1] * 1000, 1),
    }


def measured(data: Path, seconds: float) -> dict[str, Any]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([sys.executable, "-m", "tests.chaos.light_server", str(data), str(port)], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        server.stdout.readline()
        token = (data / "admin-token").read_text(encoding="utf-8").strip()
        client = Client(f"http://127.0.0.1:{port}", token)
        for number in range(JOBS):
            client.deploy(f"job{number:02d}", SQL)
        deadline = time.monotonic() + 120
        while {one["observed"] for one in client.jobs()} != {"running"}:
            assert time.monotonic() < deadline, client.jobs()
            time.sleep(0.5)
        load = Load(port, token)
        threads = [threading.Thread(target=load.ask, args=(seed,)) for seed in range(CLIENTS)] + [threading.Thread(target=load.watch)]
        for thread in threads:
            thread.start()
        memory, until = [], time.monotonic() + seconds
        while time.monotonic() < until:
            memory.append(round(resident(server.pid), 1))
            time.sleep(min(seconds / 12, 30))
        load.ends.set()
        for thread in threads:
            thread.join(30)
        every = [one for times in load.times.values() for one in times]
        return {
            "jobs": JOBS,
            "seconds": seconds,
            "all": figures(every),
            "by_path": {path: figures(times) for path, times in load.times.items() if times},
            "refused": len(load.wrong),
            "changes_on_the_stream": load.told,
            "memory_mib": memory,
            "load_average": round(os.getloadavg()[1], 1),
            "python": platform.python_version(),
            "cores": os.cpu_count(),
        }
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)
        for folder in job_folders(data / "jobs"):
            if (process := known_process(folder)) is not None:
                signal_process(process, signal.SIGKILL)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 120.0
    with tempfile.TemporaryDirectory(prefix="windrow-load-", ignore_cleanup_errors=True) as folder:
        print(json.dumps(measured(Path(folder), seconds), indent=1))


if __name__ == "__main__":
    main()
