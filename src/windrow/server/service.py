"""What people and programs ask of the server, each a method: checked, noted in the audit, carried out by the reconciler."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from windrow.compiler import Compiled
from windrow.errors import SqlError, UsageError, WindrowError
from windrow.groups import Member
from windrow.model.notes import Notes
from windrow.server.admission import Needs, needs_of
from windrow.server.books import Books, FlagWish, Who
from windrow.server.environments import note_environments
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
    Token,
    Version,
    deployment_name,
)
from windrow.server.secrets import Secrets, refuse_secrets, shown_flag
from windrow.server.texts import (
    Text,
    check_files,
    compile_text,
    data_files,
    environment_of,
    look_at,
    project_of,
    read_files,
    write_files,
)
from windrow.server.tokens import DEPLOY, may
from windrow.settings import environment as process_environment
from windrow.sql import placeholders

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


class Service:
    """``root`` is the folder of all jobs."""

    def __init__(self, root: Path, registry: Registry, reconciler: Reconciler, environment: Mapping[str, str] | None = None) -> None:
        self.root = root
        self.registry = registry
        self.books = Books(registry.database)
        self.reconciler = reconciler
        self.environment = process_environment() if environment is None else environment
        self.secrets = Secrets(self.environment)

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
            raise self._no_job(name)
        return Job(pipeline, deployment, self.reconciler.status(name))

    def _no_job(self, name: str) -> UsageError:
        known = ", ".join(one.name for one in self.registry.deployments())
        return UsageError(_NOT_THERE, f'there is no job "{name}"', f"there are: {known}" if known else "windrow deploy FILE makes one")

    def pipeline(self, name: str) -> Pipeline:
        """By its own name, or that of a deployment of it."""
        found = self.registry.pipeline(name.partition("@")[0])
        if found is None or ("@" in name and self.registry.deployment(name) is None):
            raise self._no_job(name)
        return found

    def versions(self, name: str) -> list[Version]:
        return self.registry.versions(self.pipeline(name).name)

    def version(self, name: str, n: int) -> Version:
        pipeline = self.pipeline(name).name
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
        return self.compile(Text.of(version or self.version(name, job.deployment.version), job.deployment.env))

    def compiled_in(self, version: Version, env: str) -> Compiled:
        """A version as an environment has it, deployed there or not."""
        return self.compile(Text.of(version, env))

    def compile(self, text: Text) -> Compiled:
        """As the process of a job compiles it."""
        for sql in text.sql_texts:
            self.secrets.learn(sql)
        try:
            return _compiled(text, tuple(sorted(self.values(text.env).items())))
        except SqlError as error:
            raise self.secrets.raised(error) from None

    def member(self, name: str) -> Member:
        """A deployed job among the others: what it reads, writes and promises."""
        job = self.job(name)
        text = Text.of(self.version(name, job.deployment.version), job.deployment.env)
        return _member(text, tuple(sorted(self.values(text.env).items())))

    def members(self) -> list[Member]:
        """Every deployed job whose text compiles."""
        found = []
        for deployment in self.registry.deployments():
            with suppress(WindrowError):
                found.append(self.member(deployment.name))
        return found

    def look_at(self, text: Text, who: Token) -> Compiled:
        """A text that nothing is to run. Only who may run code here is told what names of the environment stand for."""
        check_files(text.files, text.name)
        return self.compile(text) if may(who, DEPLOY) else look_at(text, self.books.flags(text.env))

    def told(self, found: dict[str, Any], who: Token) -> dict[str, Any]:
        """What is said of a text that ``look_at`` has compiled. Where it has no secret nothing is masked: that would tell what one is."""
        shown: dict[str, Any] = self.secrets.without(found) if may(who, DEPLOY) else found
        return shown

    def values(self, env: str) -> dict[str, str]:
        """What ``${NAME}`` stands for in an environment."""
        return {**self.environment, **self.books.flags(env)}

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
        check_files(text.files, text.name)
        refuse_secrets(text.sql, text.name, project_of(text))
        for path, sql in text.files:
            if path.endswith(".sql"):
                refuse_secrets(sql, path.removesuffix(".sql"), None)
        compiled = self.compile(text)
        if not compiled.plan.jobs:
            raise UsageError(
                "WR620", "there is nothing to run: the file only defines sources", "add a SELECT or CREATE STREAM ... AS SELECT"
            )
        notes = [statement.notes for statement in compiled.script.statements]
        owner = next((one.owner for one in notes if one.owner), "")
        description = next((one.description for one in notes if one.description), "")
        tags = _noted(notes, "tags").replace(",", " ").split()
        self.registry.put_pipeline(text.name, owner, description, _noted(notes, "team"), tags, _noted(notes, "group"))
        if text.env and text.env not in {one.name for one in self.books.environments()}:
            self.books.put_environment(text.env, is_protected=False)
            note_environments(self.root, self.books)
        n = self.registry.add_version(text.name, text.sql, message, by, text.project, write_files(text.files))
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

    def remove_pipeline(self, name: str, by: str) -> None:
        """All of its deployments; one alone where it is named with its environment."""
        pipeline = self.pipeline(name).name
        own = [one.name for one in self.registry.deployments() if one.pipeline == pipeline] if "@" not in name else [name]
        for one in own:
            self._refuse_running(one)
        for one in own:
            self.remove(one, by)
        if not own:
            self.registry.remove_pipeline(pipeline)
            self.registry.note(by, "remove", pipeline)

    def _refuse_running(self, name: str) -> None:
        if self.job(name).deployment.desired != STOPPED or self.reconciler.process(name) is not None:
            raise UsageError("WR924", f"{name} runs, and is not removed with its state while it does", f"windrow stop {name}")

    def remove(self, name: str, by: str) -> None:
        """The job with its state. Outputs stay where they are."""
        job = self.job(name)
        self._refuse_running(name)
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

    # Environments and flags

    def protect(self, name: str, by: str, *, is_protected: bool) -> None:
        """Noted beside the folders as well: first where it is closed, last where it is opened."""
        if is_protected:
            note_environments(self.root, self.books, {name: True})
        self.books.put_environment(name, is_protected=is_protected)
        note_environments(self.root, self.books)
        self.registry.note(by, "protect" if is_protected else "unprotect", name)

    def set_flag(self, name: str, env: str, value: str | None, by: Who, *, is_secret: bool = False) -> FlagWish | None:
        """None where it is set; else what somebody has to approve, because a protected environment would have it."""
        if _FLAG.fullmatch(name) is None:
            raise UsageError("WR923", f'"{name}" cannot be the name of a flag', "capital letters, digits and _: NEW_RULES")
        if name in self.environment:
            hint = "choose another name, or change the variable where the server is started"
            raise UsageError("WR923", f'"{name}" is a variable of the server\'s own environment', hint)
        if any(one.is_protected and env in ("", one.name) for one in self.books.environments()):
            wish = self.books.wish_flag(name, env, value, by, is_secret=is_secret)
            self.registry.note(by.name, "ask for flag", name, f"{_where(env, value, name, is_secret)}: {wish.id}")
            self.registry.add_event("flag.asked", "", f"{name} by {by.name}")
            return wish
        self._put_flag(name, env, value, by.name, is_secret)
        return None

    def approve_flag(self, id_: str, by: Who) -> FlagWish:
        wish = next((one for one in self.books.flag_wishes() if one.id == id_), None)
        if wish is None:
            raise UsageError(_NOT_THERE, f'no flag "{id_}" waits for an approval', "GET /api/v1/flags/waiting lists them")
        if wish.creator == by.id:
            told = f"flag {wish.name} was asked for by {wish.author}, and somebody else approves it"
            raise UsageError("WR940", told, "use another token")
        if not self.books.grant_flag(id_, by):
            raise UsageError("WR937", f"flag {wish.name} was approved by {wish.approved_by}", "ask for it again")
        self._put_flag(wish.name, wish.env, wish.value, wish.author, wish.is_secret)
        self.registry.note(by.name, "approve flag", wish.name, wish.id)
        return wish

    def _put_flag(self, name: str, env: str, value: str | None, by: str, is_secret: bool) -> None:
        self.books.set_flag(name, env, value, by, is_secret=is_secret)
        note_environments(self.root, self.books)
        self.registry.note(by, "set flag", name, _where(env, value, name, is_secret))
        self.registry.add_event("flag.set", "", f"{name} by {by}")

    def named_by(self, flag: str, env: str) -> list[str]:
        """The jobs whose text names a flag: they take it up when they start again."""
        return [job.deployment.name for job in self.jobs() if env in ("", job.deployment.env) and self._names(job, flag)]

    def _names(self, job: Job, flag: str) -> bool:
        version = self.registry.version(job.pipeline.name, job.deployment.version)
        return version is not None and any(flag == name for name, _ in placeholders(f"{version.sql}\n{version.project}\n{version.files}"))


@lru_cache(maxsize=256)
def _compiled(text: Text, values: tuple[tuple[str, str], ...]) -> Compiled:
    """A version never changes, and every look at a job needs its plan."""
    return compile_text(text, dict(values))


@lru_cache(maxsize=256)
def _member(text: Text, values: tuple[tuple[str, str], ...]) -> Member:
    return member_of(_compiled(text, values), text.deployment)


def member_of(compiled: Compiled, name: str) -> Member:
    return Member.of(compiled.script, compiled.catalog, compiled.plan, name)


def _where(env: str, value: str | None, name: str, is_secret: bool) -> str:
    return f"{env or 'everywhere'}: {'removed' if value is None else shown_flag(name, value, is_secret=is_secret)}"


def _noted(notes: list[Notes], key: str) -> str:
    return next((value for one in notes for name, value in one.others if name == key), "")


def facts_of(registry: Registry) -> Facts:
    """What the reconciler asks: how a version is started, and what it needs."""
    books = Books(registry.database)

    def version_of(deployment: Deployment) -> Version:
        found = registry.version(deployment.pipeline, deployment.version)
        if found is None:
            raise UsageError(_NOT_THERE, f"{deployment.pipeline} has no version {deployment.version}", "deploy it again")
        return found

    def needs(deployment: Deployment) -> Needs:
        text = Text.of(version_of(deployment), deployment.env)
        values = {**process_environment(), **books.flags(deployment.env)}
        settings = environment_of(text, values).settings if text.project else {}
        return needs_of(compile_text(text, values).plan, deployment.name, settings)

    def start(deployment: Deployment, folder: JobFolder) -> Start:
        flags = books.flags(deployment.env)
        folder.lay_out(deployment.version, dict(data_files(read_files(version_of(deployment).files))))
        arguments = ("--env", deployment.env) if deployment.env and version_of(deployment).project else ()
        return Start(folder, deployment.version, arguments, flags)

    return Facts(needs, start)
