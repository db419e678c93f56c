"""From one version of a job to the next, and back: reviewed first, written beside what is there, and switched with one file.

Nothing here starts Spark. The old version stays whole until ``job.json`` is replaced, and from then on the new one is.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from windrow.changes import Change, ChangeClass, changes_between
from windrow.compiler import Compiled, compile_sql
from windrow.errors import JobError, UsageError, WindrowError
from windrow.jobs.checkpoint import Checkpoint
from windrow.jobs.history import JobHistory, forget_notes, forget_state
from windrow.jobs.identity import CARD, Origin, make_card, parts_of, read_card, write_card
from windrow.jobs.job_versions import JobText, keep_version, number_of, versions_of
from windrow.jobs.pending import PendingRollback, forget_rollback, note_rollback, pending_rollback, refuse_unfinished_rollback
from windrow.jobs.state_migration import StateMigration, what_cannot_move
from windrow.plan.beginnings import still_wanted
from windrow.plan.explain_json import job_to_json
from windrow.plan.fingerprint import differences
from windrow.plan.stages import Job
from windrow.spark.state.state_store import StateStore
from windrow.storage import Folder, folder_name
from windrow.storage.lease import Lease


@dataclass(frozen=True)
class Review:
    """What a file would change in the state of one job. ``obstacles`` are why it cannot be carried over, if it cannot."""

    job: str
    version: int
    batch: int
    changes: list[Change] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    # By statement: how many windows and groups are open.
    open_windows: Mapping[str, int] = field(default_factory=dict)
    # What rolling back could not undo.
    lasting: list[str] = field(default_factory=list)

    @property
    def klass(self) -> ChangeClass:
        return max((change.klass for change in self.changes), key=lambda klass: klass.value, default=ChangeClass.SAME)

    @property
    def can_apply(self) -> bool:
        return not self.obstacles


class JobSwitch:
    """One job of a file, with its folder below ``state``."""

    def __init__(self, job: Job, origin: Origin, state: Folder, file: str, env: Mapping[str, str]) -> None:
        self.job = job
        self.folder = state.child(folder_name(job.name))
        if not self.folder.exists(CARD):
            raise UsageError(
                "WR621", f"there is no state of job {job.name} in {state.path}", "run it first, or name its folder with --state"
            )
        self._origin = origin
        self._state = state
        self._file, self._env = file, env
        self._checkpoint = Checkpoint(self.folder)

    def review(self) -> Review:
        """Reads only. The state is loaded by the statements that made it."""
        card = read_card(self.folder)
        refuse_unfinished_rollback(self.folder, self.job.name)
        batch = self._checkpoint.last_committed()
        changes = changes_between(card["plan"], job_to_json(self.job))
        found = Review(self.job.name, number_of(card), batch, changes)
        if not changes:
            return found
        obstacles = [f"{change.statement}: {change.what}. {_sentence(change.refused)}" for change in changes if change.refused]
        if batch < 0:
            return found
        try:
            old = self._old_job(card)
            state = self._migration(old, card).load(batch)
            # Only what has no obstacle of its own is looked into.
            obstacles += [] if obstacles else what_cannot_move(old, self.job, changes, state)
        except WindrowError as error:
            return Review(self.job.name, found.version, batch, changes, [*obstacles, error.message])
        history = JobHistory(old, self._state)
        counts = {one.statement: 0 if one.windows is None else one.windows.height for one in history.open_state(batch)[1]}
        if history.is_ended:
            obstacles.append("its input was declared ended, so it has nothing more to read")
        return Review(self.job.name, found.version, batch, changes, obstacles, counts, _lasting(history))

    def apply(self, *, message: str = "", who: str = "", commit: str = "") -> int:
        """Carry the state over to this version; gives its number. A job that runs is refused: it holds the lease."""
        lease = Lease(self.folder, self.job.name)
        try:
            card = read_card(self.folder)
            review = self.review()
            if review.obstacles:
                raise refused(review)
            old = self._old_job(card)
            self._finish_batch(old, review.batch)
            batch = self._checkpoint.last_committed()
            migration = self._migration(old, card)
            state = migration.load(batch)
            number = number_of(card) + 1
            parts = (f"state-{number}", f"buckets-{number}")
            migration.write(state, review.changes, parts)
            keep_version(self.folder, card)
            lease.check()
            write_card(self.folder, self._next_card(card, number, parts, batch, migration.beginnings, review, message, who, commit))
            return number
        finally:
            lease.release()

    def _next_card(
        self,
        card: Mapping[str, Any],
        number: int,
        parts: tuple[str, str],
        batch: int,
        beginnings: Mapping[str, int],
        review: Review,
        message: str,
        who: str,
        commit: str,
    ) -> dict[str, Any]:
        begins: dict[str, dict[str, int]] = {name: dict(calls) for name, calls in card.get("beginnings", {}).items()}
        for change in review.changes:
            if change.added_call is not None:
                stage = change.statement.removeprefix("statement ")
                if stage in beginnings:
                    begins.setdefault(stage, {})[change.added_call] = beginnings[stage]
        return {
            **card,
            **make_card(self.job, self._origin),
            "version": number,
            "parts": {"state": parts[0], "buckets": parts[1]},
            "since_batch": batch,
            "beginnings": still_wanted(self.job, begins),
            "switch": {
                "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "by": who,
                "message": message,
                "commit": commit,
                "class": review.klass.value,
                "changes": [f"{change.statement}: {change.what}" for change in review.changes],
            },
        }

    def _migration(self, old: Job, card: Mapping[str, Any]) -> StateMigration:
        return StateMigration(self.folder, old, self.job, parts_of(card))

    def _old_job(self, card: Mapping[str, Any]) -> Job:
        return saved_job(card, self._file, self._env)

    def _finish_batch(self, old: Job, committed: int) -> None:
        """A batch that was begun and is not noted as done belongs to the old version: it is noted, or nothing of it stays."""
        planned = self._checkpoint.last_planned()
        if planned <= committed:
            return
        history = JobHistory(old, self._state)
        store = StateStore(self.folder.child(parts_of(read_card(self.folder))[0]))
        if any(version.batch_id == planned and version.kind == "change" for version in store.versions()) and not store.has_end(planned):
            # Its outputs are written and its state is durable: only Spark's note was missing.
            self._checkpoint.commit_empty(planned)
            return
        if told := history.lasting():
            raise UsageError(
                "WR672",
                f"batch {planned} of job {self.job.name} was begun and not finished, and {told[0]}",
                "run the old version once more until it has committed, with windrow run FILE --once, and apply then",
            )
        history.forget_outputs(committed)
        forget_notes(self.folder, old, committed)
        self._checkpoint.go_back_to(committed)

    def rollback(self, to: int | None = None, *, message: str = "", who: str = "") -> int:
        """Back to an earlier version, as it stood when the next one took over; gives the number of batches that will run again."""
        lease = Lease(self.folder, self.job.name)
        try:
            pending = pending_rollback(self.folder) or self._plan_rollback(to, message, who)
            note_rollback(self.folder, pending)
            undone = max(0, self._checkpoint.last_committed() - pending.batch)
            complete_rollback(self.folder, self._state, pending, self._file, self._env)
            return undone
        finally:
            lease.release()

    def lasting(self) -> list[str]:
        """What going back cannot undo."""
        return _lasting(JobHistory(self._old_job(read_card(self.folder)), self._state))

    def _plan_rollback(self, to: int | None, message: str, who: str) -> PendingRollback:
        target, following = rollback_target(self.folder, self.job.name, to)
        batch, card = following.since, read_card(self.folder)
        if batch not in self._checkpoint.restorable():
            raise UsageError(
                "WR675",
                f"job {self.job.name} cannot go back to version {target.number}: Spark's notes of its last batch, {batch}, are gone",
                "start with a new --state folder",
            )
        switch = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "by": who, "message": message, "rolled_back_to": target.number}
        restores = int(card.get("restores", 0)) + 1
        kept = {"id": card["id"], "version": number_of(card) + 1, "since_batch": batch, "switch": switch, "restores": restores}
        return PendingRollback(target.number, batch, {**target.card, **kept})


def rollback_target(folder: Folder, job: str, to: int | None) -> tuple[JobText, JobText]:
    """The version to go back to, and the one that took over from it."""
    known = versions_of(folder)
    wanted = known[-1].number - 1 if to is None else to
    place = next((i for i, version in enumerate(known[:-1]) if version.number == wanted), None)
    if place is None:
        there = ", ".join(str(version.number) for version in known[:-1]) or "none before the present one"
        raise UsageError("WR675", f"job {job} has no version {wanted} to go back to", f"there are: {there}; see windrow history FILE")
    return known[place], known[place + 1]


def complete_rollback(folder: Folder, state: Folder, pending: PendingRollback, file: str, env: Mapping[str, str]) -> None:
    """Every step may be repeated: a rollback that was cut short is begun again from the first one."""
    card = read_card(folder)
    if number_of(card) < number_of(pending.card):
        # What readers see goes first, of every version that has written since.
        for version in versions_of(folder):
            if version.number > pending.to:
                written_by = saved_job(version.card, file, env)
                JobHistory(written_by, state).forget_outputs(pending.batch)
                forget_notes(folder, written_by, pending.batch)
        Checkpoint(folder).go_back_to(pending.batch)
        forget_state(folder, parts_of(pending.card), pending.batch)
        keep_version(folder, card)
        write_card(folder, pending.card)
    forget_rollback(folder)


def saved_job(card: Mapping[str, Any], file: str, env: Mapping[str, str]) -> Job:
    """The job as its saved text has it, and as it made the state."""
    try:
        compiled = compile_sql(str(card["sql"]), file, env)
    except WindrowError as error:
        raise JobError("WR671", f"the text that the state of job {card['job']} was made by no longer compiles: {error}", _HINT) from None
    found = next((job for job in compiled.plan.jobs if job.name == card["job"]), None)
    if found is None or differences(card["plan"], job_to_json(found)):
        message = (
            f"the text that the state of job {card['job']} was made by gives another plan now: a variable or an imported file has changed"
        )
        raise JobError("WR671", message, _HINT)
    return found


_HINT = "set the environment as it was then, or start with a new --state folder"


def switches_of(compiled: Compiled, state: Folder, file: str, env: Mapping[str, str]) -> list[JobSwitch]:
    """One for each job of the file; jobs that the state folder does not know, or no longer finds here, are refused."""
    names = {job.name for job in compiled.plan.jobs}
    origin = Origin.of(compiled.script, compiled.plan)
    mine = compiled.plan.file
    there = [name for name in state.entries() if state.exists(f"{name}/{CARD}")] if state.exists("") else []
    known = {str(read_card(state.child(name))["job"]) for name in there}
    gone = sorted(name for name in known - names if mine is not None and (name == mine or name.startswith(f"{mine}.")))
    new = sorted(names - known)
    if gone:
        has = ", ".join(sorted(names)) or "no jobs"
        raise UsageError(
            "WR676",
            f"the statements of {file} fall into other jobs than those that have state: {', '.join(gone)} is gone, and now there is {has}",
            "put statements that have nothing to do with the others into a file of their own",
        )
    if new and known & names:
        raise UsageError("WR676", f"{', '.join(new)} is new in {file}, and has no state", "put it into a file of its own")
    return [JobSwitch(job, origin, state, file, env) for job in compiled.plan.jobs]


def refused(review: Review) -> UsageError:
    return UsageError(
        "WR673",
        f"the state of job {review.job} cannot be carried over: {'; '.join(review.obstacles)}",
        "undo the change, or start with a new --state folder, which reads its sources from the beginning",
    )


def _lasting(history: JobHistory) -> list[str]:
    try:
        return history.lasting()
    except WindrowError:
        return []


def _sentence(text: str) -> str:
    """
    >>> _sentence("it is so")
    'It is so'
    """
    return text[:1].upper() + text[1:]
