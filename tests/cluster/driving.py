"""A driver on a machine of its own: ``windrow`` with the cluster's master and an environment packed for its workers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.namespaces import ROOT, Host
from tests.cluster.standalone import Standalone
from windrow.settings import load_settings

# Small, and quick to notice what is gone.
SMALL = {
    "spark.executor.memory": "640m",
    "spark.driver.memory": "640m",
    "spark.network.timeout": "20s",
    "spark.network.timeoutInterval": "5s",
    "spark.executor.heartbeatInterval": "2s",
}


@dataclass
class Driver:
    host: Host
    cluster: Standalone
    settings: dict[str, str] = field(default_factory=dict)

    def write(self, name: str, text: str) -> str:
        """A file of this machine; its path there."""
        path = self.host.folder / "tmp" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return f"/tmp/{name}"

    def bring(self, file: Path) -> str:
        """A file of ours, put on this machine."""
        target = self.host.folder / "tmp" / file.name
        if not target.exists():
            os.link(file, target)
        return f"/tmp/{file.name}"

    def start(self, *words: str, settings: Mapping[str, str] | None = None) -> Running:
        """``windrow`` with these words; ``run`` on the cluster, unless they name another master."""
        is_here = "--master" in words
        given = {} if is_here or words[0] != "run" else {**SMALL, **self.settings}
        more = [part for key, value in {**given, **(settings or {})}.items() for part in ("--set", f"{key}={value}")]
        master = ["--master", self.cluster.url] if words[0] == "run" and not is_here else []
        return self.start_python("-m", "windrow", *words, *master, *more, path=f"{os.path.dirname(sys.executable)}:/usr/bin:/bin")

    def start_python(self, *words: str, path: str = "/usr/bin:/bin") -> Running:
        """The Python of our environment, which is not active unless ``path`` begins with it."""
        log = self.host.folder / "log" / f"python-{len(self.host.started)}.log"
        variables = {
            "PATH": path,
            "PYTHONPATH": f"{ROOT}/src",
            "WINDROW_CACHE": str(load_settings().cache_folder),
            "PYTHONUNBUFFERED": "1",
        }
        return Running(self, self.host.start([sys.executable, *words], variables, log), log)

    def run(self, *words: str, settings: Mapping[str, str] | None = None, seconds: float = 600) -> str:
        """What it says, once it has ended well."""
        running = self.start(*words, settings=settings)
        assert running.process.wait(seconds) == 0, running.said
        return running.said

    def fail(self, *words: str, settings: Mapping[str, str] | None = None, seconds: float = 600) -> str:
        running = self.start(*words, settings=settings)
        assert running.process.wait(seconds) not in (0, 124), running.said
        return running.said


@dataclass
class Running:
    driver: Driver
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def kill(self) -> None:
        """The driver's Python and its Java, as if its machine had stopped, but for what is on its disk."""
        import signal

        self.driver.host.signal(r"-m windrow|SparkSubmit|pyspark", signal.SIGKILL)
        self.process.wait(30)
