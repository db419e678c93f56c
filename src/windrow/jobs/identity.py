"""What a job's folder holds and whose it is: the names of its parts, and ``job.json``, which ties it to its statements."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import PurePath
from typing import Any

from windrow.changes import changes_between
from windrow.connectors.registry import CONNECTORS
from windrow.errors import UsageError
from windrow.model.statement import Script
from windrow.observe.status import JobAbout
from windrow.plan.explain_json import job_to_json, plan_to_json
from windrow.plan.fingerprint import differences, fingerprint
from windrow.plan.stages import Job, Plan
from windrow.sql.masking import mask_options
from windrow.storage import Folder

STATE, BUCKETS, LETTERS, REPLAYS, NOTES, TABLES, RECORDS = "state", "buckets", "dead_letters", "replays", "notes", "tables", "records"
CHECKPOINT = "checkpoint"
CARD = "job.json"

# Of job.json alone; state files have their own (``windrow.spark.state.state_file.FORMAT``).
CARD_FORMAT = 3
_MOST_DIFFERENCES = 3


@dataclass(frozen=True)
class Origin:
    """The file that a job comes from, as it may be kept: placeholders without their values, secrets masked."""

    sql: str = ""
    annotations: tuple[Mapping[str, Any], ...] = field(default=())
    metrics: tuple[Mapping[str, Any], ...] = field(default=())

    @staticmethod
    def of(script: Script, plan: Plan) -> Origin:
        source = script.source
        told = plan_to_json(Plan((), plan.annotations, plan.metrics))
        text = mask_options(source.text if source.written is None else source.written, _is_secret)
        return Origin(text, tuple(told["annotations"]), tuple(told["metrics"]))


def about_of(plan: Plan, environment: str, spark: str) -> JobAbout:
    """What a plan says of itself, by its annotations, and where it runs."""
    told = {key.lower(): value for key, value in reversed(plan.annotations)}
    pipeline = told.get("app") or (PurePath(plan.file).stem if plan.file else "")
    return JobAbout(pipeline, told.get("version", ""), environment, spark)


def claim(folder: Folder, job: Job, origin: Origin | None = None, *, has_begun: bool = True) -> str:
    """Take a folder for a job, new or as it was left; gives the id of the folder, which no other start of the job shares.

    State belongs to the statements that made it: another query must not read it as its own. A job that never came to its first
    batch has none (``has_begun``), and may be mended in any way.
    """
    told = make_card(job, origin or Origin())
    if CARD not in folder.names() or not has_begun:
        card = {**told, "id": uuid.uuid4().hex}
        write_card(folder, card)
        return str(card["id"])
    known = read_card(folder)
    # The plan decides, not its fingerprint: a later version may find in the same plan that more or less of it counts.
    found = differences(known["plan"], told["plan"]) or _other_functions(known["plan"], told["plan"])
    if found:
        raise UsageError(
            "WR804",
            f"the state in {folder.path} belongs to other statements than those of job {job.name}: {_told(found)}",
            "windrow plan FILE says what the change does to the state, windrow apply FILE keeps it; or start with a new --state folder",
        )
    if {**known, **told} != known:
        write_card(folder, {**known, **told})
    return str(known["id"])


def _other_functions(saved: Mapping[str, Any], job: Mapping[str, Any]) -> list[str]:
    """Where the same statements would mix rows of two functions, as those of the file may have changed."""
    return [f"{change.statement}: {change.what}" for change in changes_between(saved, job) if change.of_function and change.refused]


def read_card(folder: Folder) -> dict[str, Any]:
    """What ``job.json`` says. One of another format is refused: nothing of it is believed."""
    try:
        card = json.loads(folder.read(CARD))
    except ValueError:
        card = None
    if not isinstance(card, dict) or card.get("format") != CARD_FORMAT:
        by = card.get("windrow", "a version before its format was fixed") if isinstance(card, dict) else "another version"
        raise UsageError(
            "WR803",
            f"the state in {folder.path} was written by another version of Windrow ({by}) in a format that this one does not read",
            "run the job with that version, or start with a new --state folder",
        )
    return card


def count_restore(folder: Folder) -> None:
    """Note that a job is taken back: the numbers of its batches will come a second time."""
    card = read_card(folder)
    write_card(folder, {**card, "restores": card.get("restores", 0) + 1})


def restores_of(folder: Folder) -> int:
    return int(read_card(folder).get("restores", 0))


def count_start(folder: Folder) -> int:
    """How often the job was started with this state, this time included."""
    card = read_card(folder)
    starts = int(card.get("starts", 0)) + 1
    write_card(folder, {**card, "starts": starts})
    return starts


def card_id(folder: Folder) -> str:
    return str(read_card(folder)["id"])


def make_card(job: Job, origin: Origin) -> dict[str, Any]:
    """What ``job.json`` says of a job, without what belongs to its folder alone."""
    plan = job_to_json(job)
    return {
        "format": CARD_FORMAT,
        "windrow": version("windrow"),
        "job": job.name,
        "fingerprint": fingerprint(plan),
        "annotations": list(origin.annotations),
        "metrics": list(origin.metrics),
        "sql": origin.sql,
        "plan": plan,
    }


def parts_of(card: Mapping[str, Any]) -> tuple[str, str]:
    """The folders in which the state of this version lies, in the driver and with the executors."""
    told = card.get("parts", {})
    return str(told.get("state", STATE)), str(told.get("buckets", BUCKETS))


def checkpoint_of(card: Mapping[str, Any]) -> str:
    """The folder of Spark's own notes: another one for a version that reads other sources."""
    return str(card.get("parts", {}).get(CHECKPOINT, CHECKPOINT))


def state_parts(folder: Folder) -> tuple[str, str]:
    """The same, of a folder as it is."""
    return parts_of(unjudged_card(folder))


def unjudged_card(folder: Folder) -> dict[str, Any]:
    """``job.json`` without a judgement of it: there may be none yet, or one of another format."""
    try:
        card = json.loads(folder.read(CARD)) if CARD in folder.names() else {}
    except ValueError:
        card = {}
    return card if isinstance(card, dict) else {}


def write_card(folder: Folder, card: Mapping[str, Any]) -> None:
    folder.replace_atomically(CARD, json.dumps(card, indent=1, ensure_ascii=False).encode())


def _told(found: list[str]) -> str:
    more = len(found) - _MOST_DIFFERENCES
    return "; ".join(found[:_MOST_DIFFERENCES]) + (f"; and {more} more" if more > 0 else "")


def _is_secret(key: str) -> bool:
    """Whether any connector keeps the value of this option to itself."""
    wanted = key.lower()
    specs = [each for spec in CONNECTORS.values() for each in (*(spec.source or ()), *(spec.sink or ())) if each.is_secret]
    return any(wanted == each.key.lower() or (each.key.endswith(".*") and wanted.startswith(each.key[:-1].lower())) for each in specs)
