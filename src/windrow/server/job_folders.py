"""Where the server keeps what belongs to a job: its SQL by version, its state, its log, and a note of its process.

A folder says all that is needed to find the job again: a server that lost its registry reads them.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# A Unix socket's path has 107 bytes at most.
_LONGEST_SOCKET = 100
_LOGS_KEPT = 10
PROJECT_FILE = "windrow.yaml"


@dataclass(frozen=True)
class JobFolder:
    """``root`` is the folder of all jobs."""

    root: Path
    # Of the deployment: that of the pipeline, and @environment where it has one.
    name: str

    @property
    def pipeline(self) -> str:
        return self.name.partition("@")[0]

    @property
    def env(self) -> str:
        return self.name.partition("@")[2]

    @property
    def path(self) -> Path:
        return self.root / self.name

    @property
    def state(self) -> Path:
        return self.path / "state"

    @property
    def card(self) -> Path:
        """What the job is and which version of it was started last."""
        return self.path / "deployment.json"

    @property
    def process(self) -> Path:
        return self.path / "process.json"

    @property
    def lock(self) -> Path:
        """Held by the process of the job for as long as it lives."""
        return self.path / "process.lock"

    @property
    def exit(self) -> Path:
        return self.path / "exit.json"

    def sql(self, version: int) -> Path:
        """A job is named after its file, so every version has a folder of its own for a file of the same name."""
        return self.path / "versions" / f"{version:06d}" / f"{self.pipeline}.sql"

    def log(self, run: str) -> Path:
        return self.path / "logs" / f"{run}.log"

    @property
    def socket(self) -> Path:
        beside = self.path / "job.sock"
        if len(os.fsencode(beside.absolute())) <= _LONGEST_SOCKET:
            return beside.absolute()
        short = hashlib.sha256(os.fsencode(beside.absolute())).hexdigest()[:16]
        return Path(tempfile.gettempdir(), f"windrow-{os.getuid()}-{short}.sock")

    def write_version(self, version: int, text: str, project: str, note: dict[str, Any], files: Mapping[str, str]) -> Path:
        """The text of a version with its ``windrow.yaml``, its files, and who made it. A version never changes."""
        path = self.sql(version)
        path.parent.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (path.parent / name).parent.mkdir(parents=True, exist_ok=True)
            _replace(path.parent / name, content)
        if project and not (beside := path.with_name(PROJECT_FILE)).exists():
            _replace(beside, project)
        if not (said := path.with_name("version.json")).exists():
            write_note(said, note)
        # Last: a version is there when its text is.
        if not path.exists():
            _replace(path, text)
        return path

    def lay_out(self, version: int, files: Mapping[str, str]) -> None:
        """Where the job works: the files of its version as they lay beside ``windrow.yaml``. What the job wrote itself stays."""
        project = self.sql(version).with_name(PROJECT_FILE)
        if not project.exists():
            # No file above it may have a say in what runs.
            project.write_text("# no windrow.yaml came with this text\n", encoding="utf-8")
        for name, content in files.items():
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            _replace(self.path / name, content)

    def versions(self) -> Iterator[SavedVersion]:
        """Oldest first."""
        for path in sorted(self.path.glob(f"versions/*/{self.pipeline}.sql")):
            if path.parent.name.isdigit():
                project, note = path.with_name(PROJECT_FILE), read_note(path.with_name("version.json"))
                names = note.get("files", ())
                yield SavedVersion(
                    int(path.parent.name),
                    path.read_text(encoding="utf-8"),
                    project.read_text(encoding="utf-8") if project.exists() and note.get("has_project", True) else "",
                    note,
                    {name: (path.parent / name).read_text(encoding="utf-8") for name in names},
                )

    def tidy_logs(self) -> None:
        logs = sorted(self.path.glob("logs/*.log"), key=lambda path: path.stat().st_mtime)
        for path in logs[:-_LOGS_KEPT]:
            path.unlink(missing_ok=True)


@dataclass(frozen=True)
class SavedVersion:
    n: int
    sql: str
    project: str
    note: dict[str, Any]
    files: Mapping[str, str] = field(default_factory=dict)


def job_folders(root: Path) -> list[JobFolder]:
    """Of every job that was ever deployed here."""
    return [JobFolder(root, path.parent.name) for path in sorted(root.glob("*/deployment.json"))]


def read_note(path: Path) -> dict[str, Any]:
    """Nothing where there is no note, or half of one."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write_note(path: Path, note: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    _replace(path, json.dumps(note))


def write_private(path: Path, text: str) -> None:
    """For the owner's eyes."""
    _replace(path, text, 0o600)


def _replace(path: Path, text: str, mode: int = 0o666) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
