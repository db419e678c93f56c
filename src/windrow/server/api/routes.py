"""The paths of the API. Each asks the service; nothing is decided here but who may."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

import anyio
from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import StreamingResponse

from windrow.compiler import compile_sql
from windrow.errors import UsageError
from windrow.server.api.problems import diagnostic_json
from windrow.server.api.security import COOKIE, needs
from windrow.server.api.shapes import (
    AuditShape,
    Deploy,
    Desire,
    EventShape,
    JobShape,
    LogShape,
    MadeToken,
    NewToken,
    Problem,
    RunShape,
    SignIn,
    Sql,
    TokenShape,
    VersionShape,
)
from windrow.server.registry import Event, Token, now_millis
from windrow.server.service import Job, Service
from windrow.server.tokens import ADMIN, DATA, DEPLOY, OPERATE, READ, find_token, new_token
from windrow.settings import environment

REFUSALS: dict[int | str, dict[str, Any]] = {code: {"model": Problem} for code in (401, 403, 404, 409, 413, 422)}
_PAUSE = 0.5
_BEAT = 15.0

api = APIRouter(prefix="/api/v1", responses=REFUSALS)


def service_of(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


Asked = Annotated[Service, Depends(service_of)]
Reader = Annotated[Token, Depends(needs(READ))]
Watcher = Annotated[Token, Depends(needs(DATA))]
Operator = Annotated[Token, Depends(needs(OPERATE))]
Deployer = Annotated[Token, Depends(needs(DEPLOY))]
Admin = Annotated[Token, Depends(needs(ADMIN))]


# SQL, without any job


@api.post("/check", tags=["sql"], summary="What is wrong with a text, and what may surprise")
def check(given: Sql, _: Reader) -> dict[str, Any]:
    compiled = compile_sql(given.sql, f"{given.name}.sql", environment())
    source = compiled.script.source
    return {"ok": True, "warnings": [diagnostic_json(one, source) for one in compiled.warnings]}


@api.post("/explain", tags=["sql"], summary="How a text would run, and why so")
def explain(given: Sql, _: Reader) -> dict[str, Any]:
    compiled = compile_sql(given.sql, f"{given.name}.sql", environment())
    return {"text": compiled.explain(), "plan": json.loads(compiled.explain("json"))}


# Pipelines and their deployments


@api.get("/pipelines", tags=["jobs"], summary="Every job", response_model=list[JobShape])
def list_jobs(service: Asked, _: Reader) -> list[JobShape]:
    return [_job(one) for one in service.jobs()]


@api.post("/pipelines", tags=["jobs"], summary="Deploy a text as a new version of a job, or as a new job", status_code=202)
def deploy(given: Deploy, service: Asked, token: Deployer, answer: Response) -> JobShape:
    service.deploy(given.name, given.sql, token.name, given.message, starts=given.start)
    answer.headers["Location"] = f"/api/v1/deployments/{given.name}"
    return _job(service.job(given.name))


@api.delete("/pipelines/{name}", tags=["jobs"], summary="Remove a job that is stopped, with its state", status_code=204)
def remove(name: str, service: Asked, token: Admin) -> None:
    service.remove(name, token.name)


@api.get("/pipelines/{name}/versions", tags=["jobs"], summary="Every version, newest first", response_model=list[VersionShape])
def versions(name: str, service: Asked, _: Reader) -> list[Any]:
    return [
        VersionShape(n=one.n, sql=one.sql, message=one.message, author=one.author, created_at=one.created_at)
        for one in service.versions(name)
    ]


@api.get("/deployments/{name}", tags=["jobs"], summary="One job: what it should do and what it does")
def deployment(name: str, service: Asked, _: Reader) -> JobShape:
    return _job(service.job(name))


@api.patch("/deployments/{name}", tags=["jobs"], summary="Run or stop it", status_code=202)
def desire(name: str, given: Desire, service: Asked, token: Operator) -> JobShape:
    (service.start if given.desired == "running" else service.stop)(name, token.name)
    return _job(service.job(name))


@api.post("/deployments/{name}/restart", tags=["jobs"], summary="Stop it and start it again", status_code=202)
def restart(name: str, service: Asked, token: Operator) -> JobShape:
    service.restart(name, token.name)
    return _job(service.job(name))


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
    after: Annotated[int | None, Query(ge=0)] = None,
    pipeline: Annotated[str | None, Query(max_length=63)] = None,
    most: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> list[Any]:
    return [_event(one) for one in service.registry.events(after or 0, pipeline, most, newest=after is None)]


@api.get("/events/stream", tags=["events"], summary="The same as server-sent events; Last-Event-ID goes on where it stopped")
async def stream(request: Request, service: Asked, _: Reader, after: Annotated[int | None, Query(ge=0)] = None) -> StreamingResponse:
    last = request.headers.get("last-event-id", "")
    start = int(last) if last.isdecimal() and len(last) < 19 else after
    newest = await anyio.to_thread.run_sync(lambda: service.registry.events(0, None, 1, newest=True))
    begin = start if start is not None else newest[-1].seq if newest else 0
    return StreamingResponse(_stream(request, service, begin), media_type="text/event-stream")


async def _stream(request: Request, service: Service, after: int) -> AsyncIterator[str]:
    silent = 0.0
    yield "retry: 2000\n\n"
    while not request.app.state.closing.is_set() and not await request.is_disconnected():
        found = await anyio.to_thread.run_sync(service.registry.events, after)
        for one in found:
            after = one.seq
            yield f"id: {one.seq}\nevent: {one.type}\ndata: {_event(one).model_dump_json()}\n\n"
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


@api.get("/audit", tags=["tokens"], summary="Who changed what, newest first", response_model=list[AuditShape])
def audit(service: Asked, _: Admin, most: Annotated[int, Query(ge=1, le=1000)] = 200) -> list[Any]:
    return [AuditShape(**vars(one)) for one in service.registry.audit(most)]


@api.get("/me", tags=["tokens"], summary="The token of this request and what it may do")
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


def _job(job: Job) -> JobShape:
    told = {field: getattr(job.deployment, field) for field in ("version", "desired", "observed", "why", "changed_at")}
    jobs = list((job.status or {}).get("jobs", []))
    return JobShape(name=job.pipeline.name, owner=job.pipeline.owner, description=job.pipeline.description, jobs=jobs, **told)


def _event(event: Event) -> EventShape:
    return EventShape(**vars(event))
