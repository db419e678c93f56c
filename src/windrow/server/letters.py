"""The dead letters of a job, from its folder: whether it runs or not."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from windrow.jobs.letters import EVERY, LetterFilter, read_letters
from windrow.server.job_folders import JobFolder
from windrow.storage.local import LocalFolder


def letters_of(folder: JobFolder, code: str | None, most: int) -> dict[str, Any]:
    """Counts by code and source, and the newest letters."""
    chosen = EVERY if code is None else LetterFilter(codes=frozenset({code}), with_replayed=True)
    counts: Counter[tuple[str, str]] = Counter()
    rows: list[dict[str, Any]] = []
    for job in read_letters(LocalFolder(folder.state)) if folder.state.exists() else ():
        for letter in job.records:
            counts[letter["code"], letter["source"]] += 1
            if chosen.admits(letter):
                rows.append({"job": job.job, **{key: _plain(value) for key, value in letter.items()}})
    return {
        "counts": [{"code": code, "source": source, "count": count} for (code, source), count in counts.most_common()],
        "letters": rows[::-1][:most],
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
