"""Asking a job to take dead letters in once more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from windrow.cli.states import histories_of
from windrow.errors import UsageError

if TYPE_CHECKING:
    from windrow.jobs.history import JobHistory
    from windrow.jobs.letter_requests import Asked
    from windrow.jobs.letters import LetterFilter


@dataclass(frozen=True)
class Change:
    """What is to become of letters before they return: ``edited`` is a file of corrected ones, ``repair`` sets columns of their rows."""

    edited: Path | None = None
    repair: str | None = None


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
    from windrow.jobs.letter_requests import asked_of, refuse_ended

    mended = None if change.edited is None else _read_edited(change.edited)
    for history in histories_of(file, state, job, settings):
        if history.is_ended:
            refuse_ended(history, _way_back(history, file, state))
        found = asked_of(history, wanted, mended)
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


def _read_edited(path: Path) -> dict[str, bytes | None]:
    """The raw text of each letter by its id."""
    from windrow.jobs.letter_requests import raw_bytes

    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return {str(line["id"]): raw_bytes(line.get("raw")) for line in lines}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            "WR891", f"cannot read mended letters from {path}: {error}", "start from windrow dead-letters export ... --to letters.jsonl"
        ) from error
