"""Server, jobs and registry are killed in random order: no job is lost, none runs twice, and the registry is true again within a minute.

Jobs are light programs with the notes and locks of real ones. ``WINDROW_CHAOS_ROUNDS`` is the number of rounds (100 if not set),
``WINDROW_CHAOS_SEED`` repeats a run.
"""

from __future__ import annotations

import fcntl
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.light_job import LIVES, TWICE
from windrow.errors import WindrowError
from windrow.server.client import Client
from windrow.server.job_folders import JobFolder, job_folders
from windrow.server.processes import known_process, signal_process

pytestmark = pytest.mark.chaos
ROUNDS = int(os.environ.get("WINDROW_CHAOS_ROUNDS", "100"))
JOBS = 5
SQL = "CREATE STREAM t (v INT) WITH ('connector' = 'generator');\nSELECT SUM(v) AS total FROM t WHERE v > {n};\n"
# What the issue of a round may take until everything is as it should be.
PATIENCE = 60.0


class World:
    """A server, its folder, and what each job should do by what was asked and answered."""

    def __init__(self, data: Path) -> None:
        self.data = data
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.desired: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.slowest = 0.0
        self.server = self._begin()

    def _begin(self) -> subprocess.Popen[str]:
        words = [sys.executable, "-m", "tests.chaos.light_server", str(self.data), str(self.port)]
        with open(self.data / "server.log", "ab") as log:
            started = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True)
        assert started.stdout is not None
        assert started.stdout.readline().startswith("http"), (self.data / "server.log").read_text()[-3000:]
        return started

    @property
    def client(self) -> Client:
        return Client(f"http://127.0.0.1:{self.port}", (self.data / "admin-token").read_text().strip())

    def folder(self, name: str) -> JobFolder:
        return JobFolder(self.data / "jobs", name)

    # What happens to it

    def kill_server(self, _: random.Random) -> None:
        self.server.kill()
        self.server.wait()
        self.server = self._begin()

    def kill_job(self, chance: random.Random) -> None:
        process = known_process(self.folder(chance.choice(list(self.desired))))
        if process is not None:
            signal_process(process, signal.SIGKILL)

    def lose_registry(self, chance: random.Random) -> None:
        registry = self.data / "registry.db"
        if chance.random() < 0.5:
            for path in self.data.glob("registry.db*"):
                if "broken" not in path.name:
                    path.unlink(missing_ok=True)
        elif registry.exists():
            with open(registry, "r+b") as file:
                file.write(chance.randbytes(4096))

    def lose_registry_with_the_server(self, chance: random.Random) -> None:
        self.server.kill()
        self.server.wait()
        self.lose_registry(chance)
        self.server = self._begin()

    def stop_or_start(self, chance: random.Random) -> None:
        name = chance.choice(list(self.desired))
        wish = "stopped" if self.desired[name] == "running" else "running"
        self._ask(lambda client: client.stop(name) if wish == "stopped" else client.start(name))
        self.desired[name] = wish

    def deploy(self, chance: random.Random) -> None:
        name = chance.choice([*self.desired, f"job{len(self.desired)}"]) if len(self.desired) < JOBS else chance.choice(list(self.desired))
        number = chance.randrange(1, 1_000_000)
        # Another filter is another meaning, and a job that has state asks for a plan; these jobs have none.
        self._ask(lambda client: client.deploy(name, SQL.format(n=number), start=True))
        self.desired[name] = "running"

    def _ask(self, wish: Callable[[Client], Any]) -> None:
        """A wish counts when it was answered; one that was not is made again."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                wish(self.client)
                return
            except WindrowError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    # How it should be

    def faults(self) -> list[str]:
        try:
            told = {one["name"]: one for one in self.client.jobs()}
        except WindrowError as error:
            return [str(error)]
        found = [f"{name} is lost" for name in self.desired if name not in told]
        for name in set(told) & set(self.desired):
            wanted, one = self.desired[name], told[name]
            lives = _is_held(self.folder(name).path / LIVES)
            if (one["desired"], one["observed"], lives) != (wanted, wanted, wanted == "running"):
                found.append(f"{name} should be {wanted}: it is to be {one['desired']}, said to be {one['observed']}, lives: {lives}")
            process = known_process(self.folder(name))
            if wanted == "running" and (process is None or process.version != one["version"]):
                found.append(f"{name} runs another version than {one['version']}")
        return found

    def settle(self, what: str) -> None:
        began = time.monotonic()
        while faults := self.faults():
            assert time.monotonic() - began < PATIENCE, f"after {what}: {faults}"
            time.sleep(0.05)
        self.slowest = max(self.slowest, time.monotonic() - began)
        assert not list(self.data.glob(f"jobs/*/{TWICE}")), f"after {what}: a job ran twice at once"

    def end(self) -> None:
        self.server.kill()
        self.server.wait()
        for folder in job_folders(self.data / "jobs"):
            process = known_process(folder)
            if process is not None:
                signal_process(process, signal.SIGKILL)


def _is_held(path: Path) -> bool:
    """Whether a process lives that took this lock."""
    if not path.exists():
        return False
    with open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.end()


def test_nothing_is_lost_and_nothing_runs_twice(world: World) -> None:
    seed = int(os.environ.get("WINDROW_CHAOS_SEED", str(time.time_ns() % 1_000_000)))
    print(f"WINDROW_CHAOS_SEED={seed}")
    chance = random.Random(seed)
    for _ in range(3):
        world.deploy(chance)
    world.settle("the first deployments")
    hits = (world.kill_server, world.kill_job, world.lose_registry, world.lose_registry_with_the_server, world.stop_or_start, world.deploy)
    for number in range(ROUNDS):
        # Up to three at once: the next one hits what has not recovered from the one before.
        chosen = [chance.choice(hits) for _ in range(chance.choice((1, 1, 2, 3)))]
        for hit in chosen:
            hit(chance)
        world.settle(f"round {number} (seed {seed}): {', '.join(hit.__name__ for hit in chosen)}")
    print(f"{ROUNDS} rounds with {len(world.desired)} jobs; true again after {world.slowest:.1f} s at most")
