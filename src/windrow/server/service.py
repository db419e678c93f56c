"""What people and programs ask of the server, each a method: checked, noted in the audit, carried out by the reconciler."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from windrow.compiler import Compiled
from windrow.errors import UsageError
from windrow.model.notes import Notes
from windrow.server.admission import Needs, needs_of
from windrow.server.books import Books
from windrow.server.finding import note_deployment
from windrow.server.job_folders import JobFolder
from windrow.server.processes import Start, log_lines
from windrow.server.reconciler import ENDED, FAILED, Facts, Reconciler, write_version
from windrow.server.registry import (
    PAUSED,
    RUNNING,
    STOPPED,
    Deployment,
    Desired,
    Pipeline,
    Registry,
    Run,
    Version,
    deployment_name,
)
from windrow.server.texts import NO_PROJECT, compile_text, environment_of
from windrow.settings import environment

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_ENV = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,62}")
_FLAG = re.compile(r"[A-Z][A-Z0-9_]{0,62}")
_NOT_THERE = "WR922"


@dataclass(frozen=True)
class Job:
    """A pipeline and one deployment of it, as lists show them."""

    pipeline: Pipeline
    deployment: Deployment
    status: dict[str, Any] | None


@dataclass(frozen=True)
class Text:
    """What somebody wants to deploy: SQL, the ``windrow.yaml`` that belongs to it, and the environment in which it is to run."""

    name: str
    sql: str
    project: str = ""
    env: str = ""

    @property
    def deployment(self) -> str:
        return deployment_name(self.name, self.env)


class Service:
    """``root`` is the folder of all jobs."""

    def __init__(self, root: Path, registry: Registry, reconciler: Reconciler) -> None:
        self.root = root
        self.registry = registry
        self.books = Books(registry.database)
        self.reconciler = reconciler

    def folder(self, name: str) -> JobFolder:
        self.job(name)
        return JobFolder(self.root, name)

    # Looking

    def jobs(self) -> list[Job]:
        known = {one.name: one for one in self.registry.pipelines()}
        deployed = [one for one in self.registry.deployments() if one.pipeline in known]
        return [Job(known[one.pipeline], one, self.reconciler.status(one.name)) for one in deployed]

    def job(self, name: str) -> Job:
        deployment = self.registry.deployment(name)
        pipeline = None if deployment is None else self.registry.pipeline(deployment.pipeline)
        if pipeline is None or deployment is None:
            known = ", ".join(one.name for one in self.registry.deployments())
            raise UsageError(_NOT_THERE, f'there is no job "{name}"', f"there are: {known}" if known else "windrow deploy FILE makes one")
        return Job(pipeline, deployment, self.reconciler.status(name))

    def versions(self, name: str) -> list[Version]:
        return self.registry.versions(self.job(name).pipeline.name)

    def version(self, name: str, n: int) -> Version:
        pipeline = self.job(name).pipeline.name
        found = self.registry.version(pipeline, n)
        if found is None:
            newest = self.registry.versions(pipeline)[0].n
            raise UsageError(_NOT_THERE, f"{pipeline} has no version {n}", f"versions are 1 to {newest}")
        return found

    def present(self, name: str) -> Version:
        """The version that is deployed."""
        return self.version(name, self.job(name).deployment.version)

    def compiled(self, name: str, version: Version | None = None) -> Compiled:
        """A version as its process compiles it; the deployed one if none is named."""
        job = self.job(name)
        chosen = version or self.version(name, job.deployment.version)
        return self.compile(Text(chosen.pipeline, chosen.sql, chosen.project, job.deployment.env))

    def compile(self, text: Text) -> Compiled:
        return _compiled(text, tuple(sorted(self.books.flags(text.env).items())))

    def runs(self, name: str) -> list[Run]:
        self.job(name)
        return self.registry.runs(name)

    def log(self, name: str, lines: int, run: str | None = None) -> list[str]:
        runs = self.runs(name)
        chosen = next((one for one in runs if run in (None, one.id)), None)
        return [] if chosen is None else log_lines(self.folder(name).log(chosen.id), lines)

    # Changing

    def take(self, text: Text, by: str, message: str = "") -> tuple[Version, Compiled]:
        """A text as a version of its pipeline, which nothing runs yet. Wrong SQL changes nothing."""
        if _NAME.fullmatch(text.name) is None:
            hint = "a letter first, then letters, digits, _ and -, 63 at most"
            raise UsageError("WR923", f'"{text.name}" cannot be the name of a job', hint)
        if text.env and _ENV.fullmatch(text.env) is None:
            raise UsageError("WR923", f'"{text.env}" cannot be the name of an environment', "letters, digits, _ and -, 63 at most")
        compiled = self.compile(text)
        if not compiled.plan.jobs:
            raise UsageError(
                "WR620", "there is nothing to run: the file only defines sources", "add a SELECT or CREATE STREAM ... AS SELECT"
            )
        notes = [statement.notes for statement in compiled.script.statements]
        owner = next((one.owner for one in notes if one.owner), "")
        description = next((one.description for one in notes if one.description), "")
        self.registry.put_pipeline(text.name, owner, description, _noted(notes, "team"), _noted(notes, "tags").replace(",", " ").split())
        if text.env and text.env not in {one.name for one in self.books.environments()}:
            self.books.put_environment(text.env, is_protected=False)
        n = self.registry.add_version(text.name, text.sql, message, by, text.project)
        found = self.registry.version(text.name, n)
        assert found is not None
        return found, compiled

    def put_in_place(self, version: Version, env: str, by: str, *, starts: bool = True) -> None:
        """A version becomes the one that a deployment runs."""
        deployment = deployment_name(version.pipeline, env)
        before = self.registry.deployment(deployment)
        desired: Desired = RUNNING if starts or (before is not None and before.desired == RUNNING) else STOPPED
        write_version(JobFolder(self.root, deployment), version)
        self.want(deployment, desired, version.n, env, version.pipeline)
        self.registry.note(by, "deploy", deployment, f"version {version.n}")
        self.registry.add_event("deploy.version", deployment, f"version {version.n} by {by}")

    def start(self, name: str, by: str) -> None:
        self._set(name, RUNNING, by, "start")

    def stop(self, name: str, by: str) -> None:
        self._set(name, STOPPED, by, "stop")

    def pause(self, name: str, by: str) -> None:
        """Stopped after its batch, with Spark kept ready: it goes on within a second or two."""
        if self.reconciler.process(name) is None and self.job(name).deployment.desired != PAUSED:
            raise UsageError("WR924", f"{name} does not run, so there is nothing to pause", f"windrow start {name}")
        self._set(name, PAUSED, by, "pause")

    def restart(self, name: str, by: str) -> None:
        """Stopped now; started by the next look after its end."""
        job = self.job(name)
        process = self.reconciler.process(name)
        self.registry.note(by, "restart", name)
        self.want(name, RUNNING, job.deployment.version, job.deployment.env, job.pipeline.name)
        if process is not None:
            self.reconciler.restart(name)

    def remove(self, name: str, by: str) -> None:
        """The job with its state. Outputs stay where they are."""
        job = self.job(name)
        if job.deployment.desired != STOPPED or self.reconciler.process(name) is not None:
            raise UsageError("WR924", f"{name} runs, and is not removed with its state while it does", f"windrow stop {name}")
        self.registry.remove_deployment(name)
        if all(one.pipeline != job.pipeline.name for one in self.registry.deployments()):
            self.registry.remove_pipeline(job.pipeline.name)
        self.reconciler.forget(name)
        shutil.rmtree(JobFolder(self.root, name).path, ignore_errors=True)
        self.registry.note(by, "remove", name)

    def _set(self, name: str, desired: Desired, by: str, verb: str) -> None:
        job = self.job(name)
        self.registry.note(by, verb, name)
        self.want(name, desired, job.deployment.version, job.deployment.env, job.pipeline.name)

    def want(self, name: str, desired: Desired, version: int, env: str, pipeline: str) -> None:
        before = self.registry.deployment(name)
        self.registry.want(pipeline, desired, version, env)
        if desired == RUNNING and before is not None and before.observed in (FAILED, ENDED):
            self.registry.observe(name, STOPPED)
        known, now = self.registry.pipeline(pipeline), self.registry.deployment(name)
        assert known is not None
        assert now is not None
        note_deployment(JobFolder(self.root, name), known, now)
        self.reconciler.begun_by_hand(name)
        self.reconciler.wake()

    # Flags

    def set_flag(self, name: str, env: str, value: str | None, by: str) -> list[str]:
        """Gives the jobs whose text names it: they take it up when they start again."""
        if _FLAG.fullmatch(name) is None:
            raise UsageError("WR923", f'"{name}" cannot be the name of a flag', "capital letters, digits and _: NEW_RULES")
        if name in environment():
            hint = "choose another name, or change the variable where the server is started"
            raise UsageError("WR923", f'"{name}" is a variable of the server\'s own environment', hint)
        self.books.set_flag(name, env, value, by)
        self.registry.note(by, "set flag", name, f"{env or 'everywhere'}: {'removed' if value is None else value}")
        self.registry.add_event("flag.set", "", f"{name} by {by}")
        return [job.deployment.name for job in self.jobs() if env in ("", job.deployment.env) and self._names(job, name)]

    def _names(self, job: Job, flag: str) -> bool:
        version = self.registry.version(job.pipeline.name, job.deployment.version)
        return version is not None and f"${{{flag}}}" in version.sql + version.project


@lru_cache(maxsize=256)
def _compiled(text: Text, flags: tuple[tuple[str, str], ...]) -> Compiled:
    """A version never changes, and every look at a job needs its plan."""
    return compile_text(text.sql, text.name, text.project, text.env, variables=dict(flags))


def _noted(notes: list[Notes], key: str) -> str:
    return next((value for one in notes for name, value in one.others if name == key), "")


def facts_of(registry: Registry, root: Path) -> Facts:
    """What the reconciler asks: how a version is started, and what it needs."""
    books = Books(registry.database)

    def version_of(deployment: Deployment) -> Version:
        found = registry.version(deployment.pipeline, deployment.version)
        if found is None:
            raise UsageError(_NOT_THERE, f"{deployment.pipeline} has no version {deployment.version}", "deploy it again")
        return found

    def needs(deployment: Deployment) -> Needs:
        version, flags = version_of(deployment), books.flags(deployment.env)
        plan = compile_text(version.sql, version.pipeline, version.project, deployment.env, variables=flags).plan
        settings = environment_of(version.project, deployment.env, root, flags).settings if version.project else {}
        return needs_of(plan, deployment.name, settings)

    def start(deployment: Deployment, folder: JobFolder) -> Start:
        flags = books.flags(deployment.env)
        project = folder.sql(deployment.version).with_name("windrow.yaml")
        if not project.exists():
            project.write_text(NO_PROJECT, encoding="utf-8")
        arguments = ("--env", deployment.env) if deployment.env and version_of(deployment).project else ()
        return Start(folder, deployment.version, arguments, flags)

    return Facts(needs, start)
