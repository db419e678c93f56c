"""The paths of the views of one job: windows, batches, dead letters, state, lineage, analysis. Each calls what the commands call."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field

from windrow.jobs.letters import LetterFilter
from windrow.lineage import Lineage, downstream, find_column, lineage_of, upstream
from windrow.lineage.report import lineage_to_json, restricted
from windrow.server import job_views, letters
from windrow.server.api.routes import REFUSALS, Asked, Reader, Replayer, Watcher
from windrow.server.api.shapes import Shape
from windrow.server.api.view_shapes import (
    Analysis,
    Completed,
    JobBatches,
    JobWindows,
    Letter,
    Letters,
    Replayed,
    StateShape,
    StateVersions,
    Stories,
    Topology,
    typed,
)
from windrow.server.api.view_shapes import Lineage as LineageModel
from windrow.server.completions import complete
from windrow.server.job_views import JobFile, job_file
from windrow.server.service import Service
from windrow.server.topology import topology

views = APIRouter(prefix="/api/v1", responses=REFUSALS, tags=["views"])

JobName = Annotated[str | None, Query(max_length=200, description="one of the jobs of the file; the only one if left out")]
Batch = Annotated[int | None, Query(ge=0)]
Newest = Annotated[int, Query(ge=1, le=1000, description="so many of the newest batches of the last run")]
Code = Annotated[list[str] | None, Query(max_length=20)]
Moment = Annotated[datetime | None, Query()]


class Beginning(Shape):
    sql: str = Field(max_length=1_000_000, examples=["SELECT COUNT(*) FROM t"])
    at: int = Field(ge=0, le=10**7, description="the place of the cursor, in characters", examples=[7])


class Replay(Shape):
    """Which letters; what is left out admits all."""

    ids: list[str] = Field(default=[], max_length=10_000)
    code: list[str] = Field(default=[], max_length=20, examples=[["WR701"]])
    by: str | None = Field(default=None, max_length=200)
    since: datetime | None = None
    until: datetime | None = None
    repair: str | None = Field(default=None, max_length=10_000, examples=["SET amount = 0"])
    dry_run: bool = Field(default=False, description="say what would become of each, and ask for nothing")


@views.get("/deployments/{name}/topology", summary="Its operators, what goes between them, and the SQL behind each", **typed(Topology))
def show_topology(name: str, service: Asked, _: Reader, batches: Newest = 100) -> dict[str, Any]:
    return topology(service, name, batches)


@views.get("/deployments/{name}/batches", summary="Its newest batches with their phases, oldest first", **typed(list[JobBatches]))
def batches(
    name: str,
    service: Asked,
    _: Reader,
    most: Annotated[int, Query(ge=1, le=2000)] = 200,
    after: Annotated[int | None, Query(ge=-1)] = None,
) -> list[dict[str, Any]]:
    return job_views.batches(job_file(service, name), most, after)


@views.get("/deployments/{name}/windows", summary="Open windows, and how far each partition has come", **typed(list[JobWindows]))
def windows(name: str, service: Asked, _: Watcher) -> list[dict[str, Any]]:
    return job_views.windows(job_file(service, name))


@views.get("/deployments/{name}/windows/why", summary="Why windows of a statement are open, or when they closed", **typed(Stories))
def why_window(
    name: str,
    service: Asked,
    _: Watcher,
    statement: Annotated[str, Query(max_length=200)],
    key: Annotated[list[str] | None, Query(max_length=20)] = None,
    start: Annotated[int | None, Query(description="when the window begins, in microseconds")] = None,
    most: Annotated[int, Query(ge=1, le=100)] = 5,
) -> dict[str, Any]:
    return job_views.why_window(job_file(service, name), statement, tuple(key or ()), start, most)


@views.get(
    "/deployments/{name}/analysis",
    summary="Where the time and the rows of its last batches went, and what would help",
    **typed(list[Analysis]),
)
def analysis(name: str, service: Asked, _: Reader, batches: Newest = 100) -> list[dict[str, Any]]:
    return job_views.analyses(job_file(service, name), batches)


# State


@views.get("/deployments/{name}/state", summary="What its statements hold, now or after a batch", **typed(list[StateShape]))
def state(
    name: str, service: Asked, _: Watcher, batch: Batch = None, most: Annotated[int, Query(ge=0, le=200)] = 50
) -> list[dict[str, Any]]:
    return [job_views.open_state(observed, batch, most) for observed in job_file(service, name).observed]


@views.get(
    "/deployments/{name}/state/versions", summary="The versions of its state that are kept, newest first", **typed(list[StateVersions])
)
def state_versions(name: str, service: Asked, _: Reader) -> list[dict[str, Any]]:
    return job_views.state_versions(job_file(service, name))


# Dead letters


@views.get(
    "/deployments/{name}/dead-letters",
    summary="Rows that it set aside: counts by reason, and a page of them, newest first",
    **typed(Letters),
)
def dead_letters(
    name: str,
    service: Asked,
    token: Watcher,
    code: Code = None,
    by: Annotated[str | None, Query(max_length=200)] = None,
    since: Moment = None,
    until: Moment = None,
    every: Annotated[bool, Query(alias="all", description="those that were replayed as well")] = False,
    most: Annotated[int, Query(ge=1, le=1000)] = 50,
    before: Annotated[int, Query(ge=0, description="so many of the newest are left out")] = 0,
) -> dict[str, Any]:
    wanted = LetterFilter(frozenset(), frozenset(one.upper() for one in code or ()), by, since, until, every)
    found = letters.letters_of(job_file(service, name), wanted, most, before)
    service.registry.note(token.name, "read dead letters", name, " ".join(code or ()))
    return found


@views.get("/deployments/{name}/dead-letters/{letter}", summary="One of them, with why it was set aside", **typed(Letter))
def dead_letter(name: str, letter: str, service: Asked, token: Watcher) -> dict[str, Any]:
    found = letters.letter_of(job_file(service, name), letter)
    service.registry.note(token.name, "read dead letters", name, letter)
    return found


@views.post(
    "/deployments/{name}/dead-letters/replay",
    summary="Feed some of them to their job once more, or say what would become of them",
    **typed(Replayed),
)
def replay(name: str, given: Replay, service: Asked, token: Replayer) -> dict[str, Any]:
    if given.dry_run or given.repair is not None:
        return _replay_by_command(name, given, service, token.name)
    wanted = LetterFilter(frozenset(given.ids), frozenset(one.upper() for one in given.code), given.by, given.since, given.until)
    found = letters.replay(job_file(service, name), wanted)
    service.registry.note(token.name, "replay", name, f"{sum(one['replayed'] for one in found)} dead letters")
    return {"dry_run": False, "jobs": found}


def _replay_by_command(name: str, given: Replay, service: Service, who: str) -> dict[str, Any]:
    words = [f"--id={one}" for one in given.ids] + [f"--code={one}" for one in given.code]
    for option, value in (("--by", given.by), ("--since", given.since), ("--until", given.until), ("--repair", given.repair)):
        if value is not None:
            words.append(f"{option}={value if isinstance(value, str) else value.isoformat()}")
    version = service.job(name).deployment.version
    if given.dry_run:
        return {
            "dry_run": True,
            "jobs": letters.replay_by_command(service.folder(name), version, [*words, "--dry-run", "--format", "json"]),
        }
    told = letters.replay_by_command(service.folder(name), version, words)
    service.registry.note(who, "replay", name, f"with {given.repair}")
    return {"dry_run": False, "told": told, "jobs": []}


# Lineage


@views.get("/deployments/{name}/lineage", summary="Which of its columns follow from which", **typed(LineageModel))
def lineage(name: str, service: Asked, _: Reader) -> dict[str, Any]:
    return lineage_to_json(_lineage_of(job_file(service, name)))


@views.get(
    "/lineage", summary="The same through all jobs, which are linked by what they read and write; or of one column", **typed(LineageModel)
)
def whole_lineage(
    service: Asked,
    _: Reader,
    column: Annotated[str | None, Query(max_length=400, description="stream.column")] = None,
    direction: Annotated[str, Query(pattern="^(up|down)$")] = "up",
) -> dict[str, Any]:
    whole = Lineage.together(one.lineage for one in service.members())
    if column is None:
        return lineage_to_json(whole)
    wanted = find_column(whole, column)
    return lineage_to_json(restricted(whole, upstream(whole, wanted) if direction == "up" else downstream(whole, wanted)))


def _lineage_of(file: JobFile) -> Lineage:
    return lineage_of(file.compiled.plan, file.name)


@views.post("/complete", summary="What could stand at the cursor", **typed(Completed))
def completions(given: Beginning, service: Asked, _: Reader) -> dict[str, Any]:
    return complete(given.sql, given.at, service.books.flags(""))
