"""Reading back the dead letters of jobs from their state folder, without Spark."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.errors import JobError, UsageError
from windrow.jobs.identity import CARD, LETTERS


@dataclass(frozen=True)
class JobLetters:
    """The dead letters of one job, oldest batch first; each a record of ``windrow.spark.dead_letters.SCHEMA``."""

    job: str
    folder: Path
    records: tuple[dict[str, Any], ...]


def read_letters(state: Path) -> list[JobLetters]:
    """Every job below a state folder, with its dead letters. The folder of one job is taken too."""
    try:
        folders = [state] if (state / CARD).is_file() else sorted(path.parent for path in state.glob(f"*/{CARD}"))
    except OSError as error:
        raise UsageError("WR801", f"cannot read the folder {state}: {error.strerror}", "check its permissions: ls -ld") from error
    return [JobLetters(_job_name(folder), folder / LETTERS, tuple(_records(folder / LETTERS))) for folder in folders]


def _job_name(folder: Path) -> str:
    try:
        return str(json.loads((folder / CARD).read_text(encoding="utf-8"))["job"])
    except (OSError, ValueError, KeyError):
        return folder.name


def _records(folder: Path) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for file in sorted(folder.glob("[!.]*.parquet")):
        try:
            records += pq.read_table(file).to_pylist()
        except (OSError, pa.ArrowException) as error:
            hint = "the other files can be read with any reader of Parquet"
            raise JobError("WR814", f"cannot read the dead letters in {file}: {str(error).splitlines()[0]}", hint) from error
    return records
