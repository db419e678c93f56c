"""The paths over several jobs, and those that compare: overview, datasets, groups, versions, one row."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import anyio
from fastapi import APIRouter, Query, Request
from pydantic import Field

from windrow.errors import UsageError
from windrow.jobs.letters import LetterFilter
from windrow.jobs.observed import ObservedJob
from windrow.jobs.row_stories import row_stories
from windrow.server import job_views, letters
from windrow.server import together as made
from windrow.server.api.routes import REFUSALS, Asked, Reader, Watcher
from windrow.server.api.shapes import JobShape, Shape
from windrow.server.api.view_shapes import (
    Analysis,
    DatasetShape,
    GroupDrift,
    GroupShape,
    GroupShared,
    GroupTopology,
    LetterSummary,
    Overview,
    RowTold,
    VersionDiff,
    typed,
)
from windrow.server.job_views import job_file

together = APIRouter(prefix="/api/v1", responses=REFUSALS)
_MOST_SECONDS = 60
Number = Annotated[int, Query(ge=0, le=10**18)]


class Analyze(Shape):
    """So many of the newest batches of the last run, or those of the next so many seconds."""

    batches: int | None = Field(default=None, ge=1, le=2000, examples=[100])
    seconds: float | None = Field(default=None, gt=0, le=_MOST_SECONDS, examples=[10])


@together.get("/overview", tags=["jobs"], summary="All jobs at a glance", **typed(Overview))
def overview(request: Request, service: Asked, _: Reader) -> dict[str, Any]:
    return made.overview(service, request.app.state.alerting.book)


@together.get("/pipelines/{name}", tags=["jobs"], summary="A job in all of its environments", response_model=list[JobShape])
def pipeline(name: str, service: Asked, _: Reader) -> list[JobShape]:
    from windrow.server.api.routes import job_shape

    own = service.pipeline(name).name
    return [job_shape(one) for one in service.jobs() if one.pipeline.name == own]


@together.get(
    "/pipelines/{name}/versions/{n}/diff/{m}", tags=["jobs"], summary="What changes from one version to another", **typed(VersionDiff)
)
def version_diff(name: str, n: int, m: int, service: Asked, _: Reader, env: Annotated[str, Query(max_length=63)] = "") -> dict[str, Any]:
    return made.version_diff(service, name, n, m, env)


@together.get(
    "/datasets", tags=["groups"], summary="Topics, tables and folders, with who writes and reads them", **typed(list[DatasetShape])
)
def datasets(service: Asked, _: Reader) -> list[dict[str, Any]]:
    return made.datasets(service)


@together.get("/groups", tags=["groups"], summary="Groups: by @group, team and tag, and all", **typed(list[GroupShape]))
def groups(service: Asked, _: Reader) -> list[dict[str, Any]]:
    return made.groups(service)


@together.get("/groups/{group}/topology", tags=["groups"], summary="Who reads and writes what in a group", **typed(GroupTopology))
def group_topology(group: str, service: Asked, _: Reader) -> dict[str, Any]:
    return made.group_topology(service, group)


@together.get("/groups/{group}/shared", tags=["groups"], summary="What a group shares, and could share", **typed(GroupShared))
def group_shared(group: str, service: Asked, _: Reader) -> dict[str, Any]:
    return made.group_shared(service, group)


@together.get("/groups/{group}/drift", tags=["groups"], summary="How its jobs differ between two environments", **typed(GroupDrift))
def group_drift(group: str, service: Asked, _: Reader, env1: str = "", env2: str = "") -> dict[str, Any]:
    return made.group_drift(service, group, env1, env2)


@together.get("/deployments/{name}/rows/why", tags=["views"], summary="What became of one row", **typed(list[RowTold]))
def why_row(
    name: str, service: Asked, _: Watcher, source: Annotated[str, Query(max_length=200)], partition: Number, offset: Number
) -> list[dict[str, Any]]:
    observed = job_file(service, name).observed
    if not observed:
        raise UsageError("WR653", f"{name} has not begun, so it has read no row", "start it")
    return [asdict(one) for one in row_stories(observed, source, partition, offset, name)]


@together.post(
    "/deployments/{name}/analyze", tags=["views"], summary="Where the time and the rows of its batches go", **typed(list[Analysis])
)
async def analyze(name: str, given: Analyze, service: Asked, _: Reader) -> list[dict[str, Any]]:
    """With ``seconds`` the answer takes that long; a job that commits nothing in that time has nothing to tell."""
    if given.seconds is None:
        return await anyio.to_thread.run_sync(lambda: job_views.analyses(job_file(service, name), given.batches or 100))
    file = await anyio.to_thread.run_sync(lambda: job_file(service, name))
    before = await anyio.to_thread.run_sync(lambda: {one.job.name: _last(one) for one in file.observed})
    await anyio.sleep(given.seconds)
    return await anyio.to_thread.run_sync(lambda: job_views.analyses(file, 2000, before))


def _last(observed: ObservedJob) -> int:
    records = observed.records(1)
    return records[-1].batch_id if records else -1


@together.get(
    "/deployments/{name}/dead-letters/summary", tags=["views"], summary="How many rows it set aside, by reason", **typed(LetterSummary)
)
def letter_summary(name: str, service: Asked, _: Reader) -> dict[str, Any]:
    found = letters.letters_of(job_file(service, name), LetterFilter(), 0, 0)
    return {"total": found["total"], "facets": found["facets"]}
