"""From one version of a job to the next, and back: reviewed first, written beside what is there, and switched with one file.

Nothing here starts Spark. The old version stays whole until ``job.json`` is replaced, and from then on the new one is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from windrow.changes import Change, ChangeClass, Strategy, changes_between, cut_over, mixed, other_functions, rebuilt, why_not_rebuilt
from windrow.compiler import Compiled
from windrow.errors import UsageError, WindrowError
from windrow.jobs.checkpoint import Checkpoint
from windrow.jobs.cut_overs import CUT, as_it_runs, cut_json, cut_of, first_cut, functions_lost, waits_for
from windrow.jobs.history import JobHistory, forget_notes, forget_state, misfits
from windrow.jobs.identity import CARD, CHECKPOINT, REPLAYS, Origin, checkpoint_of, make_card, parts_of, read_card, write_card
from windrow.jobs.job_versions import JobText, keep_version, number_of, versions_of
from windrow.jobs.pending import PendingRollback, forget_rollback, note_rollback, pending_rollback, refuse_unfinished_rollback
from windrow.jobs.replays import ReplayLog
from windrow.jobs.saved_text import Recompile, as_it_is, saved_job
from windrow.jobs.state_folder import state_folder
from windrow.jobs.state_migration import StateMigration, what_cannot_move, write_built
from windrow.plan.beginnings import still_wanted
from windrow.plan.cut_over import CutOver, closed_for_good, with_both
from windrow.plan.explain_json import job_to_json
from windrow.plan.stages import Job
from windrow.settings import environment
from windrow.spark.state.job_state import JobState
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
    # Where windows of the old text end and those of the new begin, if some change needs that.
    cut: CutOver | None = None
    # The watermark that the source of the cut has reached.
    watermark: int | None = None
    # When the windows of the old text are closed for good, by the watermark.
    cut_until: int | None = None
    # The cut that the present version came with, while its old windows are still open.
    closing: CutOver | None = None
    # Whether the present version was seen to commit its first batches.
    is_final: bool = True
    # How long the state took to load, and how many rows its sources have given so far.
    load_seconds: float = 0.0
    rows_read: int = 0
    strategy: Strategy = Strategy.SAFE

    @property
    def klass(self) -> ChangeClass:
        return max((change.klass for change in self.changes), key=lambda klass: klass.value, default=ChangeClass.SAME)

    @property
    def can_apply(self) -> bool:
        return not self.obstacles


class JobSwitch:
    """One job of a file, with its folder below ``state``. ``is_plain``: no environment of windrow.yaml changes its text."""

    def __init__(self, job: Job, origin: Origin, state: Folder, file: str, recompile: Recompile, *, is_plain: bool = True) -> None:
        self.job = job
        self.folder = state.child(folder_name(job.name))
        if not self.folder.exists(CARD):
            raise UsageError(
                "WR621", f"there is no state of job {job.name} in {state.path}", "run it first, or name its folder with --state"
            )
        self.origin = origin
        self._state = state
        self.file, self.recompile, self._is_plain = file, recompile, is_plain

    @property
    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(self.folder)

    def review(self, strategy: Strategy = Strategy.SAFE) -> Review:
        """Reads only. The state is loaded by the statements that made it."""
        card = read_card(self.folder)
        refuse_unfinished_rollback(self.folder, self.job.name)
        batch = self._checkpoint.last_committed()
        changes = changes_between(card["plan"], job_to_json(self.job))
        found = Review(self.job.name, number_of(card), batch, changes, is_final=bool(card.get("is_final", True)), strategy=strategy)
        if batch < 0 or (not changes and CUT not in card):
            return found
        began = time.monotonic()
        try:
            old = self._old_job(card)
            changes, stages = cut_over(old, self.job, changes)
            if strategy is Strategy.MIX:
                changes, stages = mixed(old, self.job, changes_between(card["plan"], job_to_json(self.job))), ()
            elif strategy.builds:
                changes, stages = rebuilt(changes_between(card["plan"], job_to_json(self.job))), ()
            found = replace(found, changes=changes)
            running = as_it_runs(old, self.folder, card)
            state = StateMigration(self.folder, running, self.job, parts_of(card)).load(batch)
        except WindrowError as error:
            return replace(found, obstacles=[*_refusals(changes), error.message])
        found = replace(found, load_seconds=time.monotonic() - began, rows_read=rows_read(state))
        waiting = waits_for(running, state)
        if not changes:
            return replace(found, closing=cut_of(card) if waiting else None, cut_until=max(waiting.values(), default=None))
        obstacles = _refusals(changes) + (self._why_not_built(card, old, strategy) if strategy.builds else [])
        if waiting and not strategy.builds:
            obstacles.append(_still_closing(card, max(waiting.values())))
        obstacles += misfits(self.job, self.folder)
        # Only what has no obstacle of its own is looked into.
        obstacles += [] if obstacles else what_cannot_move(old, self.job, changes, state)
        cut = first_cut(old, self.job, stages, state, number_of(card)) if stages else None
        for name, told in functions_lost(card, old, self.job, stages).items():
            obstacles.append(f"windows that are open need function {name} as it was, and {told}: give the new one a name of its own")
        if stages and not self._is_plain:
            obstacles.append(_NOT_PLAIN)
        elif stages and cut is None:
            obstacles.append(f"windows of both texts never start at the same time, so {stages[0]} cannot be cut over")
        history = JobHistory(old, self._state)
        counts = {one.statement: 0 if one.windows is None else one.windows.height for one in history.open_state(batch)[1]}
        if history.is_ended:
            obstacles.append("its input was declared ended, so it has nothing more to read")
        found = replace(found, obstacles=obstacles, open_windows=counts, lasting=_lasting(history))
        if cut is None:
            return found
        both = with_both(old, self.job, cut)
        marks = [clock.watermark(read.clock.delay) for read in old.reads if (clock := state.clocks.get(read.name)) is not None]
        least = min((mark for mark in marks if mark is not None), default=None)
        return replace(found, cut=cut, watermark=least, cut_until=max(closed_for_good(both).values()))

    def _why_not_built(self, card: Mapping[str, Any], old: Job, strategy: Strategy) -> list[str]:
        found = why_not_rebuilt(old, self.job)
        if strategy is Strategy.BLUE_GREEN:
            others = other_functions(card["plan"], job_to_json(old))
            found += [f"the old text would run with function {name} as it is now: {told}" for name, told in others.items()]
        if not self.folder.is_local:
            found.append("a state folder that is not on a local disk cannot be built beside")
        if ReplayLog(self.folder.child(REPLAYS)).taken():
            found.append("dead letters were replayed into it, and its sources do not have them as they were mended")
        return found

    def apply(
        self,
        *,
        message: str = "",
        who: str = "",
        commit: str = "",
        strategy: Strategy = Strategy.SAFE,
        is_final: bool = True,
        build: Callable[[int], JobState] | None = None,
    ) -> int:
        """Carry the state over to this version; gives its number. A job that runs is refused: it holds the lease.

        Where it is not final yet, ``finalise`` is to follow when the version has been seen to work. ``build`` makes the state after a
        batch anew, for strategies that want that.
        """
        lease = Lease(self.folder, self.job.name)
        try:
            card = read_card(self.folder)
            review = self.review(strategy)
            if review.obstacles:
                raise refused(review)
            old = self._old_job(card)
            self._finish_batch(old, review.batch)
            batch = self._checkpoint.last_committed()
            number = number_of(card) + 1
            parts = (f"state-{number}", f"buckets-{number}")
            beginnings: Mapping[str, int] = {}
            if strategy.builds:
                if build is None:
                    raise UsageError("WR677", f"strategy {strategy.value} reads the sources again", "windrow apply FILE does, with Spark")
                built = build(batch)
                had = StateMigration(self.folder, as_it_runs(old, self.folder, card), self.job, parts_of(card)).load(batch)
                refuse_missing_rows(self.job.name, rows_read(had), built)
                write_built(self.folder, built, self.job, parts)
                card = {key: value for key, value in card.items() if key != "beginnings"}
            else:
                new = self.job if review.cut is None else with_both(old, self.job, review.cut)
                migration = StateMigration(self.folder, as_it_runs(old, self.folder, card), new, parts_of(card), review.cut)
                migration.write(migration.load(batch), review.changes, parts)
                beginnings = migration.beginnings
            before, after = ([read.name for read in each.reads] for each in (old, self.job))
            if before != after:
                self._checkpoint.write_for(f"{CHECKPOINT}-{number}", before, after)
            keep_version(self.folder, read_card(self.folder))
            lease.check()
            told = {"by": who, "message": message, "commit": commit, "strategy": strategy.value}
            next_card = self._next_card(card, number, parts, batch, beginnings, review, told)
            if before != after:
                next_card["parts"][CHECKPOINT] = f"{CHECKPOINT}-{number}"
            write_card(self.folder, {**next_card, "is_final": is_final})
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
        told: Mapping[str, str],
    ) -> dict[str, Any]:
        begins: dict[str, dict[str, int]] = {name: dict(calls) for name, calls in card.get("beginnings", {}).items()}
        for change in review.changes:
            if change.added_call is not None:
                stage = change.statement.removeprefix("statement ")
                if stage in beginnings:
                    begins.setdefault(stage, {})[change.added_call] = beginnings[stage]
        cut = review.cut
        for stage in () if cut is None else cut.stages:
            # What a new aggregate has not seen is a matter of the old windows, and these stay with the old text.
            begins.pop(stage, None)
        return {
            **{key: value for key, value in card.items() if key != CUT},
            **make_card(self.job, self.origin),
            **({} if cut is None else {CUT: cut_json(cut, self.file)}),
            "version": number,
            "parts": {"state": parts[0], "buckets": parts[1], CHECKPOINT: checkpoint_of(card)},
            "since_batch": batch,
            "beginnings": still_wanted(self.job, begins),
            "switch": {
                "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                **told,
                "class": review.klass.value,
                "changes": [f"{change.statement}: {change.what}" for change in review.changes],
            },
        }

    def finalise(self) -> None:
        """Note that the version works."""
        write_card(self.folder, {**read_card(self.folder), "is_final": True})

    def saved_job(self, card: Mapping[str, Any]) -> Job:
        """The job as the text of a version has it."""
        return saved_job(card, self.recompile)

    def _old_job(self, card: Mapping[str, Any]) -> Job:
        return self.saved_job(card)

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
            complete_rollback(self.folder, self._state, pending, self.recompile)
            return undone
        finally:
            lease.release()

    def lasting(self) -> list[str]:
        """What going back cannot undo."""
        return _lasting(JobHistory(self._old_job(read_card(self.folder)), self._state))

    def _plan_rollback(self, to: int | None, message: str, who: str) -> PendingRollback:
        target, following = rollback_target(self.folder, self.job.name, to)
        batch, card = following.since, read_card(self.folder)
        if batch not in Checkpoint(self.folder, target.card).restorable():
            raise UsageError(
                "WR675",
                f"job {self.job.name} cannot go back to version {target.number}: Spark's notes of its last batch, {batch}, are gone",
                "start with a new --state folder",
            )
        switch = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "by": who, "message": message, "rolled_back_to": target.number}
        restores = int(card.get("restores", 0)) + 1
        kept = {
            "id": card["id"],
            "version": number_of(card) + 1,
            "since_batch": batch,
            "switch": switch,
            "restores": restores,
            "is_final": True,
        }
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


def complete_rollback(folder: Folder, state: Folder, pending: PendingRollback, recompile: Recompile) -> None:
    """Every step may be repeated: a rollback that was cut short is begun again from the first one."""
    card = read_card(folder)
    if number_of(card) < number_of(pending.card):
        # What readers see goes first, of every version that has written since.
        for version in versions_of(folder):
            if version.number > pending.to:
                written_by = saved_job(version.card, recompile)
                JobHistory(written_by, state).forget_outputs(pending.batch)
                forget_notes(folder, written_by, pending.batch)
        Checkpoint(folder, pending.card).go_back_to(pending.batch)
        forget_state(folder, parts_of(pending.card), pending.batch)
        keep_version(folder, card)
        write_card(folder, pending.card)
    forget_rollback(folder)


def switches_of(
    compiled: Compiled, state: Folder, file: str, env: Mapping[str, str], recompile: Recompile | None = None
) -> list[JobSwitch]:
    """One for each job of the file; jobs that the state folder does not know, or no longer finds here, are refused.

    ``recompile`` is how texts are compiled where an environment changes them.
    """
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
    how = recompile or as_it_is(file, env)
    return [JobSwitch(job, origin, state, file, how, is_plain=recompile is None) for job in compiled.plan.jobs]


def switches_in(compiled: Compiled, state: Path | str) -> list[JobSwitch]:
    """The same for a compiled text, with its state in a folder that is named."""
    return switches_of(compiled, state_folder(state), compiled.script.source.name, environment())


def changed_since(compiled: Compiled, state: Folder) -> dict[str, ChangeClass]:
    """The jobs of a text that have state of another one, with the widest class of their changes. Looks into no state."""
    found: dict[str, ChangeClass] = {}
    for job in compiled.plan.jobs:
        folder = state.child(folder_name(job.name))
        if not folder.exists(CARD) or Checkpoint(folder).last_committed() < 0:
            continue
        changes = changes_between(read_card(folder)["plan"], job_to_json(job))
        if changes:
            found[job.name] = Review(job.name, 0, 0, changes).klass
    return found


def rows_read(state: JobState) -> int:
    return sum(one.rows_in for one in state.ledger.sources.values())


def refuse_missing_rows(job: str, had: int, built: JobState) -> None:
    """A file that was removed, or records whose time in a topic is over: nobody else would say that they are missing."""
    now = rows_read(built)
    if now != had:
        raise UsageError(
            "WR673",
            f"the state of job {job} cannot be made anew: it has read {had:,} rows, and its sources give {now:,} of them now",
            "bring back what is missing, or --strategy mix, or start with a new --state folder",
        )


def refused(review: Review) -> UsageError:
    return UsageError(
        "WR673",
        f"the state of job {review.job} cannot be carried over: {'; '.join(review.obstacles)}",
        "undo the change, or start with a new --state folder, which reads its sources from the beginning",
    )


_NOT_PLAIN = (
    "a cut needs the text of before at every start, and a run does not know it as an environment of windrow.yaml had it: "
    "write what the environment sets into the file first"
)


def _refusals(changes: list[Change]) -> list[str]:
    return [f"{change.statement}: {change.what}. {_sentence(change.refused)}" for change in changes if change.refused]


def _still_closing(card: Mapping[str, Any], until: int) -> str:
    cut = cut_of(card)
    assert cut is not None
    return (
        f"windows of version {cut.version} are still open: they are closed for good when the watermark reaches {shown_time(until)}. "
        "Apply the change then, or roll back first"
    )


def shown_time(micros: int) -> str:
    """
    >>> shown_time(60_000_000)
    '1970-01-01 00:01:00'
    """
    whole = datetime.fromtimestamp(micros // 1_000_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    rest = micros % 1_000_000
    return whole if not rest else f"{whole}.{rest:06d}"


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
