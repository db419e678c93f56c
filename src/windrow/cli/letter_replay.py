"""Asking a job to take dead letters in once more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.cli.letter_view import raw_bytes
from windrow.cli.states import histories_of
from windrow.errors import UsageError
from windrow.model.fate import Fate
from windrow.plan.stages import Expect
from windrow.sql.durations import show_duration

if TYPE_CHECKING:
    from windrow.jobs.history import JobHistory
    from windrow.jobs.letters import LetterFilter
    from windrow.jobs.repairs import Outcome


@dataclass(frozen=True)
class Change:
    """What is to become of letters before they return: ``edited`` is a file of corrected ones, ``repair`` sets columns of their rows."""

    edited: Path | None = None
    repair: str | None = None


@dataclass(frozen=True)
class Asked:
    """The letters of one job: those that return, as they return, and those that stay. ``outcomes`` are there for a trial."""

    history: JobHistory
    returning: tuple[dict[str, Any], ...]
    staying: tuple[dict[str, Any], ...]
    outcomes: tuple[Outcome, ...] = ()


def ask_for_replay(
    file: str, state: str | None, job: str | None, wanted: LetterFilter, change: Change, settings: list[str] | None = None
) -> Iterator[tuple[str, int, int]]:
    """For each job its name, how many letters will be replayed, and how many cannot be."""
    for asked in _asked(file, state, job, wanted, change, settings):
        if asked.returning:
            asked.history.replays.ask_for(asked.returning)
        yield asked.history.job.name, len(asked.returning), len(asked.staying)


def try_replay(
    file: str, state: str | None, job: str | None, wanted: LetterFilter, change: Change, settings: list[str] | None = None
) -> Iterator[Asked]:
    """What would become of the letters of each job. Nothing is asked for."""
    from windrow.jobs.repairs import judge_letters

    for asked in _asked(file, state, job, wanted, change, settings):
        yield replace(asked, outcomes=judge_letters(asked.history.job, asked.returning))


def _asked(
    file: str, state: str | None, job: str | None, wanted: LetterFilter, change: Change, settings: list[str] | None
) -> Iterator[Asked]:
    mended = None if change.edited is None else _read_edited(change.edited)
    for history in histories_of(file, state, job, settings):
        if history.is_ended:
            raise UsageError(
                "WR892",
                f"the input of job {history.job.name} was declared ended and its windows are closed: it takes no more rows",
                _way_back(history, file, state),
            )
        found = _ask(history, wanted, mended)
        if change.repair is not None and found.returning:
            from windrow.jobs.repairs import repaired

            found = replace(found, returning=repaired(history.job, found.returning, change.repair))
        yield found


def _way_back(history: JobHistory, file: str, state: str | None) -> str:
    """The command that takes a job back to the last batch before its end."""
    words = f"{file} --state {state}" if state is not None else file
    batches = [version.batch_id for version in history.versions() if version.can_restore]
    if not batches:
        return f"no batch before the end is kept; run with a new --state folder: windrow run {file} --state NEW"
    return f"take it back to before the end: windrow state restore {words} --to {batches[0]}"


def _ask(history: JobHistory, wanted: LetterFilter, mended: dict[str, bytes | None] | None) -> Asked:
    from windrow.jobs.letters import read_letters

    if mended is not None:
        wanted = replace(wanted, ids=frozenset(mended))
    sources = {read.name for read in history.job.reads}
    letters = read_letters(history.folder)[0].meant_by(wanted)
    known = {letter["id"] for letter in letters}
    missing = sorted(wanted.ids - known)
    if missing:
        raise UsageError(
            "WR890", f"there is no dead letter {missing[0]} that was not replayed yet", "windrow dead-letters list --all shows every one"
        )
    judging = {stage.name for stage in history.job.stages if isinstance(stage, Expect)}
    # What a source set aside has reached no statement; what one statement set aside, others may have counted, unless it had made the row.
    able = [letter for letter in letters if letter["id"] and _can_return(letter, sources, judging)]
    able_ids = {letter["id"] for letter in able}
    staying = tuple(letter for letter in letters if letter["id"] not in able_ids)
    return Asked(history, tuple(_mended(letter, mended) for letter in able), staying)


def why_it_stays(letter: dict[str, Any]) -> str:
    """Why a letter cannot return, and what would have to be otherwise."""
    if letter["code"] != Fate.LATE.code:
        return "a statement or a table set it aside, and would do so again"
    if letter["window_end"] is None:
        return "nothing that it could be joined with is kept any more; run the query anew over the input, with a new --state folder"
    later = (
        "" if letter["late_by"] is None else f", and ALLOWED_LATENESS longer by more than {show_duration(letter['late_by'])} had kept it"
    )
    return (
        f"its last window ended at {letter['window_end']:%Y-%m-%d %H:%M:%S} and is gone: nothing is kept that could be corrected{later}; "
        "run the query anew over the input, with a new --state folder"
    )


def _can_return(letter: dict[str, Any], sources: set[str], judging: set[str]) -> bool:
    """Whether a row was set aside before anybody saw it: by its source, or by the constraints of the statement that made it."""
    if letter["statement"] is None:
        return letter["source"] in sources
    return letter["code"] == Fate.VIOLATION.code and letter["statement"] in judging


def _mended(letter: dict[str, Any], mended: dict[str, bytes | None] | None) -> dict[str, Any]:
    own = {key: value for key, value in letter.items() if key != "replay"}
    headers = own["headers"]
    own["headers"] = None if headers is None else list(headers.items())
    raw = (mended or {}).get(letter["id"])
    # Mended text stands for the row whatever its source would have made of it.
    return own if raw is None else {**own, "raw": raw, "row": raw.decode("utf-8", "replace")}


def _read_edited(path: Path) -> dict[str, bytes | None]:
    """The raw text of each letter by its id."""
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return {str(line["id"]): raw_bytes(line.get("raw")) for line in lines}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            "WR891", f"cannot read mended letters from {path}: {error}", "start from windrow dead-letters export ... --to letters.jsonl"
        ) from error
