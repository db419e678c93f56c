"""A text without any job: checked, explained, formatted, and where its columns come from and go to."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request

from windrow.jobs.system_sql import checked, run_apart
from windrow.lineage import lineage_of
from windrow.lineage.report import lineage_to_json
from windrow.server.alerting import Alerting
from windrow.server.api.problems import diagnostic_json
from windrow.server.api.routes import REFUSALS, Asked, Reader
from windrow.server.api.security import lacking
from windrow.server.api.shapes import Looked, Query, QueryResult, Sql
from windrow.server.api.view_shapes import Checked, Explained, Formatted, Impact, Lineage, typed
from windrow.server.impact import impact_of
from windrow.server.system_tables import TABLES, tables_of
from windrow.server.system_world import ServerWorld
from windrow.server.texts import Text
from windrow.server.tokens import DATA, may
from windrow.sql import canonical_layout

texts = APIRouter(prefix="/api/v1", responses=REFUSALS, tags=["sql"])


@texts.post("/check", summary="What is wrong with a text, and what may surprise", **typed(Checked))
def check(given: Looked, service: Asked, who: Reader) -> dict[str, Any]:
    compiled = service.look_at(_text(given), who)
    source = compiled.script.source
    return service.told({"ok": True, "warnings": [diagnostic_json(one, source) for one in compiled.warnings]}, who)


@texts.post("/explain", summary="How a text would run, and why so", **typed(Explained))
def explain(given: Looked, service: Asked, who: Reader) -> dict[str, Any]:
    compiled = service.look_at(_text(given), who)
    return service.told({"text": compiled.explain(), "plan": json.loads(compiled.explain("json"))}, who)


@texts.post("/fmt", summary="A text in canonical layout", **typed(Formatted))
def format_text(given: Sql, _: Reader) -> dict[str, str]:
    return {"sql": canonical_layout(given.sql, f"{given.name}.sql")}


@texts.post("/lineage", summary="Which columns of a text follow from which", **typed(Lineage))
def lineage(given: Looked, service: Asked, who: Reader) -> dict[str, Any]:
    return service.told(lineage_to_json(lineage_of(service.look_at(_text(given), who).plan, f"{given.name}.sql")), who)


@texts.post("/impact", summary="What a text would change for the jobs that read what the deployed one writes", **typed(Impact))
def impact(given: Looked, service: Asked, who: Reader) -> dict[str, Any]:
    return service.told(impact_of(service, _text(given), who), who)


@texts.post("/query", summary="SELECT over the system tables: jobs, batches, operators, windows, dead_letters, events, alerts, lineage")
def query(given: Query, request: Request, service: Asked, who: Reader) -> QueryResult:
    """Names are ``system.jobs`` and so on; ``data`` is needed for those with rows that came in."""
    text, names = checked(given.query, TABLES)
    if any(TABLES[name].holds_data for name in names) and not may(who, DATA):
        raise lacking(who, DATA)
    alerting: Alerting = request.app.state.alerting
    tables = tables_of(ServerWorld(service, alerting.book), names)
    # Before the query: its answer would tell which of its own words is a secret.
    hidden = {name: (columns, [tuple(service.secrets.without(list(row))) for row in rows]) for name, (columns, rows) in tables.items()}
    if "dead_letters" in names:
        service.registry.note(who.name, "read dead letters", "system.dead_letters")
    found = run_apart(text, hidden)
    return QueryResult(columns=list(found.columns), rows=[list(row) for row in found.rows], is_cut=found.is_cut)


def _text(given: Looked) -> Text:
    return Text(given.name, given.sql, given.project, given.env, tuple(sorted(given.files.items())))
