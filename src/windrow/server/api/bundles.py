"""The support bundle of a job: answers of this API, packed."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import APIRouter, Response
from fastapi.encoders import jsonable_encoder

from windrow.server.alert_book import AlertBook
from windrow.server.alert_states import Standing
from windrow.server.api.alerts import alert_shape
from windrow.server.api.live import summary
from windrow.server.api.routes import REFUSALS, Asked, Reader, job_shape, runs, versions
from windrow.server.bundle import Packing, pack_views
from windrow.server.job_views import job_file
from windrow.server.processes import log_lines
from windrow.server.registry import Token, now_millis
from windrow.server.secrets import shown_project, shown_text
from windrow.server.service import Service
from windrow.server.tokens import DATA, may

bundles = APIRouter(prefix="/api/v1", responses=REFUSALS, tags=["views"])
_EVENTS, _LOG_LINES, _LOGS = 1000, 5000, 3
_ZIP: dict[int | str, dict[str, Any]] = {200: {"content": {"application/zip": {}}, "description": "a zip, which the page opens"}}


@bundles.get(
    "/deployments/{name}/bundle.zip",
    summary="All that helps to understand it, in one zip: no secrets, and rows and logs only for tokens with data",
    response_class=Response,
    responses=_ZIP,
)
def bundle(name: str, service: Asked, token: Reader) -> Response:
    packed = _packed(service, name, token).done().to_zip()
    service.registry.note(token.name, "bundle", name)
    headers = {"Content-Disposition": f'attachment; filename="{name}-bundle.zip"'}
    return Response(packed, media_type="application/zip", headers=headers)


def _packed(service: Service, name: str, token: Token) -> Packing:
    job, at = service.job(name), f"/deployments/{name}"
    texts = service.versions(name)
    for one in texts:
        service.secrets.learn(one.sql)
    packing = Packing(name, service.secrets, with_rows=may(token, DATA))
    packing.answer(at, lambda: jsonable_encoder(job_shape(job)))
    packing.answer(f"{at}/runs", lambda: jsonable_encoder(runs(name, service, token)))
    packing.answer(
        f"/pipelines/{job.pipeline.name}/versions",
        lambda: [{**one.model_dump(), "sql": shown_text(one.sql)} for one in versions(name, service, token)],
    )
    packing.answer("/events", lambda: [vars(one) for one in service.registry.events(0, name, _EVENTS, newest=True)])
    packing.answer("/alerts", lambda: _alerts(service, name))
    packing.answer("/live", lambda: _live(service, name))
    pack_views(packing, job_file(service, name))
    for version in texts:
        sql = shown_text(version.sql)
        packing.text(f"sql/{version.n:06d}.sql", partial(str, sql), is_sql=True)
        if version.project:
            packing.text(f"sql/{version.n:06d}.windrow.yaml", partial(shown_project, version.project), is_sql=True)
    if packing.with_rows:
        packing.answer(f"{at}/logs", lambda: {"lines": service.log(name, _LOG_LINES)})
        for run in service.runs(name)[:_LOGS]:
            log = service.folder(name).log(run.id)
            packing.text(f"logs/{run.id}.log", lambda log=log: "\n".join(log_lines(log, _LOG_LINES)))  # type: ignore[misc]
    return packing


def _alerts(service: Service, name: str) -> list[dict[str, Any]]:
    book, now = AlertBook(service.registry.database), now_millis()
    active = [one for one in book.active() if one.job == name]
    standing = Standing(active, book.silences(now), now)
    return [alert_shape(one, standing).model_dump() for one in [*active, *book.over(100, name)]]


def _live(service: Service, name: str) -> dict[str, Any]:
    """As the stream of the page begins, with this job only."""
    job = service.job(name)
    events = service.registry.events(0, name, 50, newest=True)
    watched = list((job.status or {}).get("jobs", ()))
    return {"seq": 0, "at": now_millis(), "jobs": [summary(job)], "watched": watched, "events": [vars(one) for one in events]}
