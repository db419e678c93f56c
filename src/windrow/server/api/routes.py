"""The paths of the API. Each asks the service; nothing is decided here but who may."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated, Any
from urllib.parse import quote

import anyio
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse

from windrow.errors import UsageError
from windrow.server.api.security import COOKIE, needs, token_of
from windrow.server.api.shapes import (
    AuditShape,
    Deploy,
    DeployedShape,
    Desire,
    EventShape,
    JobShape,
    LogShape,
    MadeToken,
    NewToken,
    OperationShape,
    Problem,
    RunShape,
    SignIn,
    TokenShape,
    VersionShape,
)
from windrow.server.api.view_shapes import STREAM, Me, typed
from windrow.server.books import Operation, Who
from windrow.server.changing import Changing
from windrow.server.registry import Event, Token, Version, now_millis
from windrow.server.secrets import shown_project, shown_text
from windrow.server.service import Job, Service
from windrow.server.texts import Text, read_files
from windrow.server.tokens import ADMIN, DATA, DEPLOY, OPERATE, READ, find_token, new_token

REFUSALS: dict[int | str, dict[str, Any]] = {code: {"model": Problem} for code in (400, 401, 403, 404, 409, 411, 413, 421, 422, 429, 503)}
_PAUSE = 0.5
_BEAT = 15.0

api = APIRouter(prefix="/api/v1", responses=REFUSALS)


def service_of(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


def changing_of(request: Request) -> Changing:
    found: Changing = request.app.state.changing
    return found


Asked = Annotated[Service, Depends(service_of)]
Changes = Annotated[Changing, Depends(changing_of)]
After = Annotated[int | None, Query(ge=0, le=10**18)]
Limit = Annotated[int, Query(ge=1, le=1000)]
Cursor = Annotated[str, Query(max_length=200, description="where the page before ended, as its Link says")]
Reader = Annotated[Token, Depends(needs(READ))]
Watcher = Annotated[Token, Depends(needs(DATA))]
Operator = Annotated[Token, Depends(needs(OPERATE))]
# Who feeds rows back sees them, too.
Replayer = Annotated[Token, Depends(needs(OPERATE, DATA))]
Deployer = Annotated[Token, Depends(needs(DEPLOY))]
Admin = Annotated[Token, Depends(needs(ADMIN))]


# Pipelines and their deployments


@api.get("/pipelines", tags=["jobs"], summary="Every job, by name; Link names the next page", response_model=list[JobShape])
def list_jobs(service: Asked, _: Reader, answer: Response, limit: Limit = 1000, cursor: Cursor = "") -> list[JobShape]:
    found = [one for one in service.jobs() if one.deployment.name > cursor]
    if len(found) > limit:
        next_page(answer, "/api/v1/pipelines", limit, found[limit - 1].deployment.name)
    return [job_shape(one) for one in found[:limit]]


@api.post("/pipelines", tags=["jobs"], summary="Deploy a text as a new version of a job, or as a new job", status_code=202)
def deploy(given: Deploy, changing: Changes, service: Asked, token: Deployer, answer: Response) -> DeployedShape:
    text = Text(given.name, given.sql, given.project, given.env, tuple(sorted(given.files.items())))
    operation = changing.deploy(text, Who(token.id, token.name), given.message, starts=given.start)
    place = f"deployments/{text.deployment}" if operation is None else f"operations/{operation.id}"
    answer.headers["Location"] = f"/api/v1/{place}"
    told = None if operation is None else operation_shape(operation)
    return DeployedShape(job=job_shape(service.job(text.deployment)), operation=told)


@api.delete("/pipelines/{name}", tags=["jobs"], summary="Remove a job that is stopped everywhere, with its state", status_code=204)
def remove(name: str, service: Asked, token: Admin) -> None:
    service.remove_pipeline(name, token.name)


@api.delete("/deployments/{name}", tags=["jobs"], summary="The same in one environment", status_code=204)
def remove_deployment(name: str, service: Asked, token: Admin) -> None:
    service.remove(name, token.name)


@api.get("/pipelines/{name}/versions", tags=["jobs"], summary="Every version, newest first", response_model=list[VersionShape])
def versions(name: str, service: Asked, _: Reader) -> list[Any]:
    return [version_shape(one) for one in service.versions(name)]


@api.get("/deployments/{name}", tags=["jobs"], summary="One job: what it should do and what it does")
def deployment(name: str, service: Asked, _: Reader) -> JobShape:
    return job_shape(service.job(name))


@api.patch("/deployments/{name}", tags=["jobs"], summary="Run, stop or pause it", status_code=202)
def desire(name: str, given: Desire, service: Asked, token: Operator) -> JobShape:
    {"running": service.start, "stopped": service.stop, "paused": service.pause}[given.desired](name, token.name)
    return job_shape(service.job(name))


@api.post("/deployments/{name}/restart", tags=["jobs"], summary="Stop it and start it again", status_code=202)
def restart(name: str, service: Asked, token: Operator) -> JobShape:
    service.restart(name, token.name)
    return job_shape(service.job(name))


@api.get("/deployments/{name}/runs", tags=["jobs"], summary="Its processes, newest first", response_model=list[RunShape])
def runs(name: str, service: Asked, _: Reader) -> list[Any]:
    names = RunShape.model_fields
    return [RunShape(**{field: getattr(one, field) for field in names}) for one in service.runs(name)]


@api.get("/deployments/{name}/logs", tags=["jobs"], summary="The end of its log")
def logs(
    name: str,
    service: Asked,
    _: Watcher,
    lines: Annotated[int, Query(ge=1, le=5000)] = 200,
    run: Annotated[str | None, Query(max_length=40)] = None,
) -> LogShape:
    return LogShape(lines=service.log(name, lines, run))


# Events


@api.get("/events", tags=["events"], summary="What happened: the newest, or those after one", response_model=list[EventShape])
def events(
    service: Asked,
    _: Reader,
    after: Annotated[int | None, Query(ge=0, le=10**18)] = None,
    pipeline: Annotated[str | None, Query(max_length=63)] = None,
    most: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[Any]:
    return [_event(one) for one in service.registry.events(after or 0, pipeline, most, newest=after is None)]


@api.get(
    "/events/stream",
    tags=["events"],
    summary="The same as server-sent events; Last-Event-ID goes on where it stopped",
    response_class=StreamingResponse,
    responses=STREAM,
)
async def stream(request: Request, service: Asked, _: Reader, after: After = None) -> StreamingResponse:
    last = request.headers.get("last-event-id", "")
    start = int(last) if last.isdecimal() and len(last) < 19 else after
    newest = await anyio.to_thread.run_sync(lambda: service.registry.events(0, None, 1, newest=True))
    begin = start if start is not None else newest[-1].seq if newest else 0
    return StreamingResponse(_stream(request, service, begin), media_type="text/event-stream")


async def _stream(request: Request, service: Service, after: int) -> AsyncIterator[str]:
    silent = 0.0
    yield "retry: 2000\n\n"
    while not request.app.state.closing.is_set() and not await request.is_disconnected():
        if await anyio.to_thread.run_sync(token_of, request) is None:
            return
        found = await anyio.to_thread.run_sync(service.registry.events, after)
        for one in found:
            after = one.seq
            told = json.dumps(service.secrets.without(asdict(one)))
            yield f"id: {one.seq}\nevent: {one.type}\ndata: {told}\n\n"
        silent = 0.0 if found else silent + _PAUSE
        if silent >= _BEAT:
            silent = 0.0
            yield ": still here\n\n"
        await anyio.sleep(_PAUSE)


# Tokens and audit


@api.get("/tokens", tags=["tokens"], summary="Every token, without its secret", response_model=list[TokenShape])
def tokens(service: Asked, _: Admin) -> list[Any]:
    return [TokenShape(**{**vars(one), "scopes": list(one.scopes)}) for one in service.registry.tokens()]


@api.post("/tokens", tags=["tokens"], summary="Make a token; it is shown this once", status_code=201)
def make_token(given: NewToken, service: Asked, token: Admin) -> MadeToken:
    expires = None if given.days is None else now_millis() + given.days * 86_400_000
    id_, made = new_token(service.registry, given.name, given.scopes, expires)
    service.registry.note(token.name, "make token", given.name, " ".join(given.scopes))
    return MadeToken(id=id_, token=made)


@api.delete("/tokens/{token_id}", tags=["tokens"], summary="A token opens nothing any more", status_code=204)
def remove_token(token_id: str, service: Asked, token: Admin) -> None:
    if not service.registry.remove_token(token_id):
        raise UsageError("WR922", f'there is no token "{token_id}"', "GET /api/v1/tokens lists them")
    service.registry.note(token.name, "remove token", token_id)


@api.get("/audit", tags=["tokens"], summary="Who changed what, newest first; Link names the next page", response_model=list[AuditShape])
def audit(
    service: Asked, _: Admin, answer: Response, limit: Limit = 200, cursor: Annotated[int | None, Query(ge=1, le=10**18)] = None
) -> list[Any]:
    found = service.registry.audit(limit, cursor)
    if len(found) == limit:
        next_page(answer, "/api/v1/audit", limit, found[-1].seq)
    return [AuditShape(**vars(one)) for one in found]


@api.get("/me", tags=["tokens"], summary="The token of this request and what it may do", **typed(Me))
def me(token: Reader) -> dict[str, Any]:
    return {"name": token.name, "scopes": list(token.scopes)}


@api.post("/session", tags=["tokens"], summary="A token into a cookie, for the page", status_code=204)
def sign_in(given: SignIn, request: Request, service: Asked, answer: Response) -> None:
    if find_token(service.registry, given.token) is None:
        raise UsageError("WR928", "the token is unknown or has expired", "windrow serve prints where the first one is")
    secure = request.url.scheme == "https"
    answer.set_cookie(COOKIE, given.token, httponly=True, samesite="strict", secure=secure, max_age=30 * 86_400)


@api.delete("/session", tags=["tokens"], summary="Sign out", status_code=204)
def sign_out(answer: Response) -> None:
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")


def job_shape(job: Job) -> JobShape:
    told: dict[str, Any] = {field: getattr(job.deployment, field) for field in ("version", "desired", "observed", "why", "changed_at")}
    jobs = list((job.status or {}).get("jobs", []))
    told |= {field: getattr(job.pipeline, field) for field in ("owner", "team", "description")}
    deployed = job.deployment
    return JobShape(name=deployed.name, pipeline=deployed.pipeline, env=deployed.env, tags=list(job.pipeline.tags), jobs=jobs, **told)


def version_shape(version: Version) -> VersionShape:
    """Without what nobody should read, whenever it was deployed."""
    files = {path: shown_text(text) if path.endswith(".sql") else text for path, text in read_files(version.files)}
    names = ("n", "message", "author", "created_at")
    told: dict[str, Any] = {name: getattr(version, name) for name in names}
    return VersionShape(sql=shown_text(version.sql), project=shown_project(version.project), files=files, **told)


def operation_shape(operation: Operation) -> OperationShape:
    names = OperationShape.model_fields
    return OperationShape(**{field: getattr(operation, field) for field in names})


def next_page(answer: Response, path: str, limit: int, cursor: str | int) -> None:
    """As RFC 8288 has it, so that lists stay lists."""
    answer.headers["Link"] = f'<{path}?limit={limit}&cursor={quote(str(cursor))}>; rel="next"'


def _event(event: Event) -> EventShape:
    return EventShape(**vars(event))
