"""The dead letters of a job, from its folder: whether it runs or not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from windrow.diagnosis.rows import why_set_aside
from windrow.errors import UsageError
from windrow.jobs.history import JobHistory
from windrow.jobs.letter_requests import Asked, asked_of, plain, refuse_ended, why_it_stays
from windrow.jobs.letters import JobLetters, LetterFilter, read_letters
from windrow.model.fate import FATE_CODES
from windrow.server.job_folders import JobFolder
from windrow.server.job_views import JobFile

NO_LETTER = "WR890"
# A dry run and a repair judge rows by Spark, in a process of its own: the server has no JVM.
_TRIAL_SECONDS = 180.0


def letters_of(file: JobFile, wanted: LetterFilter, most: int, before: int) -> dict[str, Any]:
    """Counts by reason, maker and hour of all that are meant, and a page of them, newest first; ``before`` of them are left out."""
    found = [(own.job, letter) for own in _every(file) for letter in own.meant_by(wanted)]
    page = found[::-1][before : before + most]
    return {
        "total": len(found),
        "facets": {
            "code": _facet(Counter(letter["code"] for _, letter in found), _meaning),
            "by": _facet(Counter(letter["statement"] or letter["source"] for _, letter in found)),
            "hour": _hours(Counter(_hour(letter["arrived_at"]) for _, letter in found if letter["arrived_at"])),
            "replay": _facet(Counter(_standing(letter) for _, letter in found)),
        },
        "letters": [{"job": job, **plain(letter)} for job, letter in page],
    }


def _every(file: JobFile) -> list[JobLetters]:
    return read_letters(file.state) if file.observed else []


def _facet(counts: Counter[str], meaning: Any = None) -> list[dict[str, Any]]:
    return [{"value": value, "count": count, **({"meaning": meaning(value)} if meaning else {})} for value, count in counts.most_common()]


def _hour(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)


def _hours(counts: Counter[datetime]) -> list[dict[str, Any]]:
    return [{"value": hour.isoformat(), "count": count} for hour, count in sorted(counts.items())]


def _standing(letter: Mapping[str, Any]) -> str:
    replay = letter["replay"]
    return "set aside" if replay is None else "waiting" if isinstance(replay, str) else "replayed"


def _meaning(code: str) -> str:
    return next((meaning for known, meaning in FATE_CODES.values() if known == code), "")


def letter_of(file: JobFile, identity: str) -> dict[str, Any]:
    """One letter, with why it was set aside and what would have taken it."""
    for own in _every(file):
        for letter in own.records:
            if letter["id"] == identity:
                job = next(one.job for one in file.observed if one.job.name == own.job)
                return {"job": own.job, **plain(letter), "why": why_set_aside(letter, job)}
    raise UsageError(NO_LETTER, f"there is no dead letter {identity}", "GET .../dead-letters lists them")


def replay(file: JobFile, wanted: LetterFilter) -> list[dict[str, Any]]:
    """For each job how many letters return to it with its next batch, and those that cannot, with the reason."""
    asked = [_asked(JobHistory(one.job, one.state), wanted) for one in file.observed]
    for one in asked:
        if one.returning:
            one.history.replays.ask_for(one.returning)
    return [_replayed(one) for one in asked]


def _asked(history: JobHistory, wanted: LetterFilter) -> Asked:
    refuse_ended(history, "restore its state to a batch before the end")
    return asked_of(history, wanted)


def _replayed(asked: Asked) -> dict[str, Any]:
    stay = Counter(why_it_stays(letter) for letter in asked.staying)
    reasons = [{"why": why, "count": count} for why, count in stay.most_common(20)]
    return {"job": asked.history.job.name, "replayed": len(asked.returning), "stay": len(asked.staying), "reasons": reasons}


def replay_by_command(folder: JobFolder, version: int, arguments: list[str]) -> Any:
    """``windrow dead-letters replay`` over the text of a version; what it prints where that is JSON."""
    words = ["dead-letters", "replay", str(folder.sql(version)), "--state", str(folder.state), *arguments]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "windrow", *words], capture_output=True, text=True, timeout=_TRIAL_SECONDS, check=False, cwd=folder.path
        )
    except subprocess.TimeoutExpired:
        raise _told(f"[WR934] Spark did not judge the letters within {_TRIAL_SECONDS:.0f} s\n  hint: choose fewer letters") from None
    if done.returncode != 0:
        raise _told(done.stderr)
    start = done.stdout.find("[")
    return json.loads(done.stdout[start:]) if "--format=json" in arguments and start >= 0 else done.stdout.splitlines()


def _told(text: str) -> UsageError:
    """What a command said of its end, as the error that it was."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    at = next((number for number, line in enumerate(lines) if line.startswith("[WR")), None)
    if at is None:
        return _told(f"[WR934] {lines[-1] if lines else 'the command said nothing'}")
    code, _, message = lines[at].removeprefix("[").partition("] ")
    hint = next((line.strip().removeprefix("hint: ") for line in lines[at + 1 :] if line.strip().startswith("hint: ")), None)
    return UsageError(code, message, hint)
