"""Changes of what runs, with their state: planned, approved, applied, watched, and taken back. Each is an operation that one can look at.

The work on the state is that of ``windrow plan``, ``apply`` and ``rollback`` (``windrow.jobs.switching``); here the job is stopped for it
and started again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

from windrow.changes import Strategy
from windrow.errors import JobError, UsageError, WindrowError
from windrow.jobs.change_records import review_record, version_records
from windrow.jobs.history import JobHistory
from windrow.jobs.job_versions import versions_of
from windrow.jobs.switching import JobSwitch, Review, refused, switches_of
from windrow.plan.explain_json import job_to_json
from windrow.plan.fingerprint import differences
from windrow.server.books import FAILED, SUCCEEDED, Operation, Plan, Who
from windrow.server.registry import RUNNING, Deployment, Version, now_millis
from windrow.server.service import Service
from windrow.server.texts import Text, compile_saved
from windrow.storage.local import LocalFolder

LOG = logging.getLogger(__name__)
# A job is stopped within these seconds, or the reconciler kills it; then it is watched for so long, or until it has committed.
STOP_SECONDS, WATCH_SECONDS, WATCHED_BATCHES = 180.0, 120.0, 3
_GLANCE = 0.2
NOT_THERE, MOVED, PROTECTED, DECIDE, NO_APPROVAL, NOT_DONE = "WR922", "WR937", "WR938", "WR939", "WR940", "WR941"
APPLY, ROLLBACK, RESTORE = "apply", "rollback", "restore"


class Changing:
    def __init__(self, service: Service, closing: Event) -> None:
        self._service = service
        self._books, self._registry, self._reconciler = service.books, service.registry, service.reconciler
        self._closing = closing
        self._workers = ThreadPoolExecutor(4, "windrow-change")

    def begin(self) -> None:
        """What a server before this one did not end is done again: every step of it may be repeated."""
        for operation in self._books.unfinished():
            self._submit(operation)

    def close(self) -> None:
        self._workers.shutdown(wait=False, cancel_futures=True)

    # Deploying, planned or not

    def deploy(self, text: Text, by: Who, message: str = "", *, starts: bool = True) -> Operation | None:
        """A new job, or a new version of one. Where it changes what state holds, only safe changes go without a plan: as an operation."""
        if self._books.is_protected(text.env):
            hint = f"windrow plan FILE --env {text.env} --server URL; somebody else approves it, then windrow apply"
            raise UsageError(PROTECTED, f"environment {text.env} is protected: what runs there is planned and approved first", hint)
        version, _ = self._service.take(text, by.name, message)
        known = self._registry.deployment(text.deployment)
        reviews = [] if known is None else [one for one in self._reviews(known, version) if one.changes and one.batch >= 0]
        if not reviews:
            self._service.put_in_place(version, text.env, by.name, starts=starts)
            return None
        assert known is not None
        for review in reviews:
            if not review.can_apply:
                raise refused(review)
            if not review.klass.is_safe:
                what = "; ".join(f"{one.statement}: {one.what}" for one in review.changes)
                hint = "windrow plan FILE --server URL shows it, windrow apply FILE --server URL does it"
                raise UsageError(DECIDE, f"version {version.n} of {text.name} changes what its state means: {what}", hint)
        return self._apply(self._made_plan(known, version, by), by.name, "")

    def plan(self, text: Text, by: Who, message: str = "", strategy: Strategy = Strategy.SAFE) -> Plan:
        """What the text would do to the job. Nothing is changed but that there is a version more."""
        if strategy.builds:
            told = f"a server does not make state anew, as strategy {strategy.value} asks"
            raise UsageError("WR677", told, "stop the job, and windrow apply FILE --state DIR on the server's machine")
        version, _ = self._service.take(text, by.name, message)
        known = self._registry.deployment(text.deployment)
        if known is None:
            return self._books.add_plan(text.deployment, 0, version.n, {"jobs": [], "can_apply": True}, by)
        return self._made_plan(known, version, by, strategy, message)

    def promote(self, name: str, env: str, by: Who) -> Plan:
        """A plan to run in another environment what runs in this one."""
        present = self._service.present(name)
        return self.plan(Text.of(present, env), by, f"from {name}, version {present.n}")

    def plan_rollback(self, name: str, to: int | None, by: Who) -> Plan:
        """A plan to go back to a version, with the state as it was then: for environments where somebody else approves that."""
        deployment, wanted = self._aim_back(name, to)
        content = {"jobs": [], "can_apply": True}
        return self._books.add_plan(name, deployment.version, wanted, content, by, ROLLBACK)

    def plan_restore(self, name: str, batch: int, by: Who, job: str | None = None) -> Plan:
        """A plan to take a job back to a batch, where somebody else approves that: rows are given a second time."""
        deployment = self._service.job(name).deployment
        content = {"jobs": [], "can_apply": True, "batch": batch, "job": self._job_of(name, job)}
        return self._books.add_plan(name, deployment.version, deployment.version, content, by, RESTORE)

    def _made_plan(self, known: Deployment, version: Version, by: Who, strategy: Strategy = Strategy.SAFE, message: str = "") -> Plan:
        reviews = self._reviews(known, version, strategy)
        content: dict[str, Any] = {"jobs": [review_record(one) for one in reviews], "can_apply": all(one.can_apply for one in reviews)}
        content |= {"strategy": strategy.value, "message": message or version.message}
        return self._books.add_plan(known.name, known.version, version.n, content, by)

    def _reviews(self, deployment: Deployment, version: Version, strategy: Strategy = Strategy.SAFE) -> list[Review]:
        switches = self._switches(deployment.name, version)
        return [one.review(strategy) for one in switches]

    def _switches(self, name: str, version: Version) -> list[JobSwitch]:
        """None where the job has no state yet."""
        folder = self._service.folder(name)
        compiled = self._service.compiled(name, version)
        if not folder.state.is_dir() or not any(folder.state.glob("*/job.json")):
            return []
        text, values = Text.of(version, folder.env), self._service.values(folder.env)
        recompile = (lambda sql: compile_saved(text, sql, values)) if text.project else None
        return switches_of(compiled, LocalFolder(folder.state), f"{folder.pipeline}.sql", values, recompile)

    def found_plan(self, id_: str) -> Plan:
        found = self._books.plan(id_)
        if found is None:
            raise UsageError(NOT_THERE, f'there is no plan "{id_}"', "POST /api/v1/pipelines/NAME/plans makes one")
        return found

    def approve(self, id_: str, by: Who) -> Plan:
        plan = self.found_plan(id_)
        # By the token, not its name: two may be called the same. Of a plan of an older server only the name is known.
        if plan.creator == by.id or (not plan.creator and plan.created_by == by.name):
            raise UsageError(NO_APPROVAL, f"plan {id_} was made by {plan.created_by}, and somebody else approves it", "use another token")
        self._check_base(plan)
        self._books.approve(id_, by)
        self._registry.note(by.name, "approve", plan.deployment, f"plan {id_}")
        self._registry.add_event("deploy.approved", plan.deployment, f"version {plan.to_version} by {by.name}")
        return self.found_plan(id_)

    def apply(self, id_: str, by: str, key: str = "") -> Operation:
        plan = self.found_plan(id_)
        before = self._books.operation(plan.operation) if plan.operation else None
        if before is not None and (before.ended_at is None or (key and key == before.idempotency_key)):
            # The same wish once more; a new one would find that the base has moved.
            return before
        self._check_base(plan)
        env = plan.deployment.partition("@")[2]
        if self._books.is_protected(env) and not plan.approved_by:
            hint = f"POST /api/v1/plans/{id_}/approve, by another token than the one that made it"
            raise UsageError(NO_APPROVAL, f"environment {env} is protected, and nobody has approved plan {id_}", hint)
        if not plan.content.get("can_apply"):
            why = "; ".join(each for job in plan.content["jobs"] for each in job["obstacles"])
            told = f"the state of {plan.deployment} cannot be carried over: {why}"
            raise UsageError("WR673", told, "undo the change, or deploy it by another name")
        return self._apply(plan, by, key)

    def _apply(self, plan: Plan, by: str, key: str) -> Operation:
        told: dict[str, Any] = {name: plan.content[name] for name in ("strategy", "message", "batch", "job") if name in plan.content}
        operation = self._begin(plan.kind, plan.deployment, {"plan": plan.id, "to": plan.to_version, **told}, by, key)
        self._books.note_operation(plan.id, operation.id)
        return operation

    def _check_base(self, plan: Plan) -> None:
        known = self._registry.deployment(plan.deployment)
        if (0 if known is None else known.version) != plan.from_version:
            now = "is not deployed any more" if known is None else f"runs version {known.version} now"
            told = f"plan {plan.id} was made for version {plan.from_version}, and {plan.deployment} {now}"
            raise UsageError(MOVED, told, "make a new plan")
        if plan.expires_at < now_millis():
            raise UsageError(MOVED, f"plan {plan.id} has expired", "make a new plan")

    # Going back

    def rollback(self, name: str, to: int | None, by: str, key: str = "", message: str = "") -> Operation:
        """To a version that ran before, with the state as it was when the next one took over."""
        deployment, wanted = self._aim_back(name, to)
        if self._books.is_protected(deployment.env):
            hint = f"POST /api/v1/deployments/{name}/rollback/plan makes a plan; somebody else approves it, then apply it"
            raise UsageError(PROTECTED, f"environment {deployment.env} is protected: going back is planned and approved first", hint)
        return self._begin(ROLLBACK, name, {"to": wanted, "message": message}, by, key)

    def _aim_back(self, name: str, to: int | None) -> tuple[Deployment, int]:
        deployment = self._service.job(name).deployment
        wanted = self._before(deployment) if to is None else self._service.version(name, to).n
        if wanted == deployment.version:
            raise UsageError("WR675", f"{name} runs version {wanted}", f"windrow history {name} --server URL lists the others")
        return deployment, wanted

    def _before(self, deployment: Deployment) -> int:
        found = next((run.version for run in self._registry.runs(deployment.name, 500) if run.version != deployment.version), None)
        if found is None:
            raise UsageError("WR675", f"no version of {deployment.name} ran before version {deployment.version}", "deploy another text")
        return found

    def restore(self, name: str, batch: int, by: str, job: str | None = None, key: str = "") -> Operation:
        """To where it stood after a batch; the rows after it are read again."""
        env = self._service.job(name).deployment.env
        if self._books.is_protected(env):
            hint = f"POST /api/v1/deployments/{name}/restore/plan makes a plan; somebody else approves it, then apply it"
            raise UsageError(PROTECTED, f"environment {env} is protected: going back to a batch is planned and approved first", hint)
        return self._begin(RESTORE, name, {"batch": batch, "job": self._job_of(name, job)}, by, key)

    def _job_of(self, name: str, job: str | None) -> str:
        """Which of the jobs of a file is meant."""
        jobs = [one.name for one in self._service.compiled(name).plan.jobs]
        if job is not None and job not in jobs:
            raise UsageError(NOT_THERE, f"{name} has no job {job}", f"there are: {', '.join(jobs)}")
        if job is None and len(jobs) > 1:
            raise UsageError(NOT_THERE, f"{name} has several jobs, each with batches of its own", f'"job": "{jobs[0]}"')
        return job or jobs[0]

    def history(self, name: str) -> list[dict[str, Any]]:
        """The versions that the state of a job went through, oldest first."""
        return [record for switch in self._switches(name, self._service.present(name)) for record in version_records(switch)]

    # Operations

    def operation(self, id_: str) -> Operation:
        found = self._books.operation(id_)
        if found is None:
            raise UsageError(NOT_THERE, f'there is no operation "{id_}"', "GET /api/v1/operations lists them")
        return found

    def _begin(self, kind: str, name: str, content: dict[str, Any], by: str, key: str) -> Operation:
        busy = next((one for one in self._books.unfinished() if one.deployment == name and not (key and one.idempotency_key == key)), None)
        if busy is not None:
            raise UsageError(MOVED, f"{name} is being changed: {busy.kind}, {busy.step or busy.state}", f"wait for operation {busy.id}")
        operation, is_new = self._books.begin(kind, name, content, by, key)
        if is_new:
            self._registry.note(by, kind, name, str(content))
            self._submit(operation)
        return operation

    def _submit(self, operation: Operation) -> None:
        work: dict[str, Callable[[Operation], str]] = {APPLY: self._do_apply, ROLLBACK: self._do_rollback, RESTORE: self._do_restore}
        self._workers.submit(self._work, operation, work[operation.kind])

    def _work(self, operation: Operation, work: Callable[[Operation], str]) -> None:
        name = operation.deployment
        try:
            told = work(operation)
            self._books.step(operation, told, SUCCEEDED)
            self._registry.add_event(f"deploy.{operation.kind}", name, told)
        except _ClosingError:
            # The next server goes on with it.
            return
        except WindrowError as error:
            self._fail(operation, error.code, error.message, error.hint)
        except Exception as error:
            LOG.exception("an operation failed", extra={"windrow": {"operation": operation.id}})
            self._fail(operation, "WR999", f"{type(error).__name__}: {error}", "the log of the server says more")
        finally:
            self._reconciler.hold(name, is_held=False)

    def _fail(self, operation: Operation, code: str, message: str, hint: str | None) -> None:
        self._books.step(operation, message, FAILED, {"code": code, "title": message, "hint": hint})
        self._registry.add_event(f"deploy.{operation.kind}_failed", operation.deployment, f"[{code}] {message}", "error")

    def _do_apply(self, operation: Operation) -> str:
        name, to = operation.deployment, int(operation.content["to"])
        pipeline, _, env = name.partition("@")
        version = self._registry.version(pipeline, to)
        if version is None:
            raise UsageError(NOT_THERE, f"{pipeline} has no version {to}", "deploy it again")
        before = self._registry.deployment(name)
        if before is None:
            self._service.put_in_place(version, env, operation.created_by)
            return f"version {to} is deployed"
        self._stop(operation)
        carried = self._carry(operation, version)
        self._service.put_in_place(version, env, operation.created_by, starts=before.desired == RUNNING)
        self._reconciler.hold(name, is_held=False)
        if before.desired != RUNNING:
            return f"version {to} is in place; the job does not run"
        why = self._watch(operation)
        if why is None:
            return f"version {to} runs"
        self._books.step(operation, f"version {to} failed, going back to {before.version}")
        self._stop(operation)
        self._go_back(name, before.version, operation, is_needed=carried)
        old = self._registry.version(pipeline, before.version)
        assert old is not None
        self._service.put_in_place(old, env, operation.created_by)
        told = f"version {to} failed, and {name} is back at version {before.version}: {why}"
        raise JobError(NOT_DONE, told, "mend the text and plan again")

    def _carry(self, operation: Operation, version: Version) -> bool:
        """Whether anything of the state had to be changed."""
        found, strategy = False, Strategy.of(operation.content.get("strategy", Strategy.SAFE.value))
        for switch in self._switches(operation.deployment, version):
            review = switch.review(strategy)
            if review.changes and review.batch >= 0:
                self._books.step(operation, f"carrying the state of job {review.job} over")
                message = operation.content.get("message", version.message)
                switch.apply(message=message, who=operation.created_by, strategy=strategy)
                found = True
        return found

    def _do_rollback(self, operation: Operation) -> str:
        name, to = operation.deployment, int(operation.content["to"])
        deployment = self._service.job(name).deployment
        self._stop(operation)
        self._go_back(name, to, operation, is_needed=True)
        version = self._service.version(name, to)
        self._service.put_in_place(version, deployment.env, operation.created_by, starts=deployment.desired == RUNNING)
        return f"back at version {to}"

    def _go_back(self, name: str, to: int, operation: Operation, *, is_needed: bool) -> None:
        target = self._service.version(name, to)
        plans = {job.name: job_to_json(job) for job in self._service.compiled(name, target).plan.jobs}
        for switch in self._switches(name, self._service.present(name)) if is_needed else ():
            known = versions_of(switch.folder)
            wanted = plans.get(switch.job.name)
            if wanted is None or not differences(known[-1].card["plan"], wanted):
                continue
            fitting = [one.number for one in known[:-1] if not differences(one.card["plan"], wanted)]
            if not fitting:
                there = f"the state of job {switch.job.name} was never that of version {to}"
                raise UsageError("WR675", there, "plan and apply that text instead")
            self._books.step(operation, f"taking the state of job {switch.job.name} back")
            message = operation.content.get("message") if operation.kind == ROLLBACK else ""
            switch.rollback(fitting[-1], message=message or f"to version {to}", who=operation.created_by)

    def _do_restore(self, operation: Operation) -> str:
        name, batch = operation.deployment, int(operation.content["batch"])
        job = next(one for one in self._service.compiled(name).plan.jobs if one.name == operation.content["job"])
        self._stop(operation)
        self._books.step(operation, f"taking job {job.name} back to batch {batch}")
        undone = JobHistory(job, LocalFolder(self._service.folder(name).state)).restore(batch)
        return f"job {job.name} stands after batch {batch}; {undone:,} batches run again"

    def _stop(self, operation: Operation) -> None:
        self._books.step(operation, "stopping the job")
        self._reconciler.hold(operation.deployment, is_held=True)
        if not self._until(lambda: self._reconciler.process(operation.deployment) is None, STOP_SECONDS):
            raise JobError(NOT_DONE, f"{operation.deployment} does not stop", "its log says what it waits for")

    def _watch(self, operation: Operation) -> str | None:
        """Why the new version failed; None where it commits, or runs and has nothing to read."""
        name = operation.deployment
        self._books.step(operation, "watching the first batches")
        first: dict[str, int] = {}

        def is_settled() -> bool:
            job = self._service.job(name)
            if job.deployment.observed in ("failed", "ended", "restarting"):
                return True
            states = (job.status or {}).get("jobs", [])
            for one in states:
                first.setdefault(str(one["job"]), int(one["batch_id"]))
            return bool(states) and all(int(one["batch_id"]) >= first[str(one["job"])] + WATCHED_BATCHES for one in states)

        self._until(is_settled, WATCH_SECONDS)
        found = self._service.job(name).deployment
        return found.why or found.observed if found.observed in ("failed", "restarting") else None

    def _until(self, condition: Callable[[], bool], seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not condition():
            if self._closing.wait(_GLANCE):
                raise _ClosingError
            if time.monotonic() >= deadline:
                return False
        return True


class _ClosingError(Exception):
    """The server ends; the operation stays as it is."""
