"""What people and programs ask of the server, each a method: checked, noted in the audit, carried out by the reconciler."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from windrow.compiler import Compiled, compile_sql
from windrow.errors import UsageError
from windrow.server.job_folders import JobFolder
from windrow.server.processes import log_lines
from windrow.server.reconciler import ENDED, FAILED, Reconciler, note_deployment
from windrow.server.registry import RUNNING, STOPPED, Deployment, Desired, Pipeline, Registry, Run, Version
from windrow.settings import environment

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_NOT_THERE = "WR922"


@dataclass(frozen=True)
class Job:
    """A pipeline and its deployment, as lists show them."""

    pipeline: Pipeline
    deployment: Deployment
    status: dict[str, Any] | None


class Service:
    def __init__(self, root: Path, registry: Registry, reconciler: Reconciler) -> None:
        self._root = root
        self.registry = registry
        self._reconciler = reconciler

    def folder(self, name: str) -> JobFolder:
        self.job(name)
        return JobFolder(self._root, name)

    # Looking

    def jobs(self) -> list[Job]:
        deployed = {one.pipeline: one for one in self.registry.deployments()}
        return [
            Job(one, deployed[one.name], self._reconciler.status(one.name)) for one in self.registry.pipelines() if one.name in deployed
        ]

    def job(self, name: str) -> Job:
        pipeline, deployment = self.registry.pipeline(name), self.registry.deployment(name)
        if pipeline is None or deployment is None:
            known = ", ".join(one.name for one in self.registry.pipelines())
            raise UsageError(_NOT_THERE, f'there is no job "{name}"', f"there are: {known}" if known else "windrow deploy FILE makes one")
        return Job(pipeline, deployment, self._reconciler.status(name))

    def versions(self, name: str) -> list[Version]:
        self.job(name)
        return self.registry.versions(name)

    def version(self, name: str, n: int) -> Version:
        self.job(name)
        found = self.registry.version(name, n)
        if found is None:
            newest = self.registry.versions(name)[0].n
            raise UsageError(_NOT_THERE, f"{name} has no version {n}", f"versions are 1 to {newest}")
        return found

    def runs(self, name: str) -> list[Run]:
        self.job(name)
        return self.registry.runs(name)

    def log(self, name: str, lines: int, run: str | None = None) -> list[str]:
        runs = self.runs(name)
        chosen = next((one for one in runs if run in (None, one.id)), None)
        return [] if chosen is None else log_lines(self.folder(name).log(chosen.id), lines)

    # Changing

    def deploy(self, name: str, sql: str, by: str, message: str = "", *, starts: bool = True) -> tuple[Version, Compiled]:
        """A new version of a job, or a new job. Wrong SQL changes nothing."""
        if _NAME.fullmatch(name) is None:
            hint = "a letter first, then letters, digits, _ and -, 63 at most"
            raise UsageError("WR923", f'"{name}" cannot be the name of a job', hint)
        compiled = self._compiled(name, sql)
        notes = [statement.notes for statement in compiled.script.statements]
        owner = next((one.owner for one in notes if one.owner), "")
        description = next((one.description for one in notes if one.description), "")
        self.registry.put_pipeline(name, owner, description)
        n = self.registry.add_version(name, sql, message, by)
        before = self.registry.deployment(name)
        desired: Desired = RUNNING if starts or (before is not None and before.desired == RUNNING) else STOPPED
        JobFolder(self._root, name).write_sql(n, sql)
        self._want(name, desired, n)
        self.registry.note(by, "deploy", name, f"version {n}")
        self.registry.add_event("deploy.version", name, f"version {n} by {by}")
        return self.version(name, n), compiled

    def start(self, name: str, by: str) -> None:
        self._set(name, RUNNING, by, "start")

    def stop(self, name: str, by: str) -> None:
        self._set(name, STOPPED, by, "stop")

    def restart(self, name: str, by: str) -> None:
        """Stopped now; started by the next look after its end."""
        job = self.job(name)
        process = self._reconciler.process(name)
        self.registry.note(by, "restart", name)
        self._want(name, RUNNING, job.deployment.version)
        if process is not None:
            self._reconciler.restart(name)

    def remove(self, name: str, by: str) -> None:
        """The job with its state. Outputs stay where they are."""
        job = self.job(name)
        if job.deployment.desired == RUNNING or self._reconciler.process(name) is not None:
            raise UsageError("WR924", f"{name} runs, and is not removed with its state while it does", f"windrow stop {name}")
        self.registry.remove_pipeline(name)
        self._reconciler.forget(name)
        shutil.rmtree(JobFolder(self._root, name).path, ignore_errors=True)
        self.registry.note(by, "remove", name)

    def _set(self, name: str, desired: Desired, by: str, verb: str) -> None:
        job = self.job(name)
        self.registry.note(by, verb, name)
        self._want(name, desired, job.deployment.version)

    def _want(self, name: str, desired: Desired, version: int) -> None:
        before = self.registry.deployment(name)
        self.registry.want(name, desired, version)
        if desired == RUNNING and before is not None and before.observed in (FAILED, ENDED):
            self.registry.observe(name, STOPPED)
        pipeline = self.registry.pipeline(name)
        assert pipeline is not None
        note_deployment(JobFolder(self._root, name), version, desired, pipeline.owner, pipeline.description)
        self._reconciler.begun_by_hand(name)
        self._reconciler.wake()

    def _compiled(self, name: str, sql: str) -> Compiled:
        compiled = compile_sql(sql, f"{name}.sql", environment())
        if not compiled.plan.jobs:
            raise UsageError(
                "WR620", "there is nothing to run: the file only defines sources", "add a SELECT or CREATE STREAM ... AS SELECT"
            )
        return compiled
