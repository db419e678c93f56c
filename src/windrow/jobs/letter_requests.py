"""What can be asked of dead letters from outside: shown as JSON, fed to their job once more, tried before that. Starts no Spark."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from windrow.errors import UsageError
from windrow.jobs.history import JobHistory
from windrow.jobs.letters import LetterFilter, read_letters
from windrow.jobs.quarantine import can_return
from windrow.jobs.repairs import Outcome
from windrow.model.fate import Fate
from windrow.sql.durations import show_duration


@dataclass(frozen=True)
class Asked:
    """The letters of one job: those that return, as they return, and those that stay. ``outcomes`` are there for a trial."""

    history: JobHistory
    returning: tuple[dict[str, Any], ...]
    staying: tuple[dict[str, Any], ...]
    outcomes: tuple[Outcome, ...] = ()


def refuse_ended(history: JobHistory, hint: str) -> None:
    """A job whose input was declared ended takes no rows."""
    if history.is_ended:
        raise UsageError(
            "WR892", f"the input of job {history.job.name} was declared ended and its windows are closed: it takes no more rows", hint
        )


def asked_of(history: JobHistory, wanted: LetterFilter, mended: Mapping[str, bytes | None] | None = None) -> Asked:
    """The letters of a job that a filter means. ``mended`` has the raw text that returns in the place of a letter's own, by id."""
    if mended is not None:
        wanted = replace(wanted, ids=frozenset(mended))
    letters = read_letters(history.folder)[0].meant_by(wanted)
    known = {letter["id"] for letter in letters}
    missing = sorted(wanted.ids - known)
    if missing:
        raise UsageError(
            "WR890", f"there is no dead letter {missing[0]} that was not replayed yet", "windrow dead-letters list --all shows every one"
        )
    able = [letter for letter in letters if letter["id"] and not _is_held(letter, wanted) and can_return(history.job, letter)]
    able_ids = {letter["id"] for letter in able}
    staying = tuple(letter for letter in letters if letter["id"] not in able_ids)
    return Asked(history, tuple(_mended(letter, mended) for letter in able), staying)


def why_it_stays(letter: dict[str, Any]) -> str:
    """Why a letter cannot return, and what would have to be otherwise."""
    if letter["held"]:
        return f"rule {letter['rule']} holds it for review: --held replays it, or --id {letter['id']}"
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


def _is_held(letter: dict[str, Any], wanted: LetterFilter) -> bool:
    """Held for review: who has reviewed it names it, or says that held ones are meant."""
    return bool(letter["held"]) and letter["id"] not in wanted.ids and not wanted.with_held


def _mended(letter: dict[str, Any], mended: Mapping[str, bytes | None] | None) -> dict[str, Any]:
    own = {key: value for key, value in letter.items() if key != "replay"}
    headers = own["headers"]
    own["headers"] = None if headers is None else list(headers.items())
    raw = (mended or {}).get(letter["id"])
    # Mended text stands for the row whatever its source would have made of it.
    return own if raw is None else {**own, "raw": raw, "row": raw.decode("utf-8", "replace")}


def trial_json(tried: Asked) -> dict[str, Any]:
    """What would become of each letter, for programs."""
    judged = [
        {**_named(letter), "would": "pass" if outcome.code is None else "fail", "again": outcome.code, "why": outcome.why}
        for letter, outcome in zip(tried.returning, tried.outcomes, strict=True)
    ]
    stay = [{**_named(one), "would": "stay", "again": None, "why": why_it_stays(one)} for one in tried.staying]
    return {"job": tried.history.job.name, "letters": [*judged, *stay]}


def _named(letter: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": letter["id"], "code": letter["code"]}


def plain(record: dict[str, Any]) -> dict[str, Any]:
    """A record as JSON holds it: times as ISO 8601, the row as an object, raw bytes as text, or as base64 where they are none."""
    data = {key: value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value for key, value in record.items()}
    raw = record["raw"]
    data["row"] = json.loads(record["row"]) if record["row"] else None
    try:
        data["raw"] = None if raw is None else raw.decode()
    except UnicodeDecodeError:
        data["raw"] = {"base64": base64.b64encode(raw).decode()}
    return data


def raw_bytes(shown: Any) -> bytes | None:
    """What ``plain`` made of raw bytes, back again.

    >>> raw_bytes("x"), raw_bytes({"base64": "/w=="}), raw_bytes(None)
    (b'x', b'\\xff', None)
    """
    if isinstance(shown, dict):
        return base64.b64decode(shown["base64"])
    return None if shown is None else str(shown).encode()
