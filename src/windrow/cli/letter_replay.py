"""Asking a job to take dead letters in once more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from windrow.cli.letter_view import raw_bytes
from windrow.cli.states import histories_of
from windrow.errors import UsageError
from windrow.model.fate import Fate
from windrow.plan.stages import Expect

if TYPE_CHECKING:
    from windrow.jobs.history import JobHistory
    from windrow.jobs.letters import LetterFilter


def ask_for_replay(
    file: str, state: str | None, job: str | None, wanted: LetterFilter, edited: Path | None, settings: list[str] | None = None
) -> Iterator[tuple[str, int, int]]:
    """For each job its name, how many letters will be replayed, and how many cannot be."""
    mended = None if edited is None else _read_edited(edited)
    for history in histories_of(file, state, job, settings):
        if history.is_ended:
            raise UsageError(
                "WR892",
                f"the input of job {history.job.name} was declared ended and its windows are closed: it takes no more rows",
                _way_back(history, file, state),
            )
        asked, left = _ask(history, wanted, mended)
        yield history.job.name, asked, left


def _way_back(history: JobHistory, file: str, state: str | None) -> str:
    """The command that takes a job back to the last batch before its end."""
    words = f"{file} --state {state}" if state is not None else file
    batches = [version.batch_id for version in history.versions() if version.can_restore]
    if not batches:
        return f"no batch before the end is kept; run with a new --state folder: windrow run {file} --state NEW"
    return f"take it back to before the end: windrow state restore {words} --to {batches[0]}"


def _ask(history: JobHistory, wanted: LetterFilter, mended: dict[str, bytes | None] | None) -> tuple[int, int]:
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
    if able:
        history.replays.ask_for([_mended(letter, mended) for letter in able])
    return len(able), len(letters) - len(able)


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
