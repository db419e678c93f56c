"""A text without any job: checked, explained, formatted, and where its columns come from and go to."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter

from windrow.lineage import lineage_of
from windrow.lineage.report import lineage_to_json
from windrow.server.api.problems import diagnostic_json
from windrow.server.api.routes import REFUSALS, Asked, Reader
from windrow.server.api.shapes import Sql
from windrow.server.impact import impact_of
from windrow.server.service import Text
from windrow.sql import canonical_layout

texts = APIRouter(prefix="/api/v1", responses=REFUSALS, tags=["sql"])


@texts.post("/check", summary="What is wrong with a text, and what may surprise")
def check(given: Sql, service: Asked, _: Reader) -> dict[str, Any]:
    compiled = service.compile(Text(given.name, given.sql))
    source = compiled.script.source
    return {"ok": True, "warnings": [diagnostic_json(one, source) for one in compiled.warnings]}


@texts.post("/explain", summary="How a text would run, and why so")
def explain(given: Sql, service: Asked, _: Reader) -> dict[str, Any]:
    compiled = service.compile(Text(given.name, given.sql))
    return {"text": compiled.explain(), "plan": json.loads(compiled.explain("json"))}


@texts.post("/fmt", summary="A text in canonical layout")
def format_text(given: Sql, _: Reader) -> dict[str, str]:
    return {"sql": canonical_layout(given.sql, f"{given.name}.sql")}


@texts.post("/lineage", summary="Which columns of a text follow from which")
def lineage(given: Sql, service: Asked, _: Reader) -> dict[str, Any]:
    found: dict[str, Any] = lineage_to_json(lineage_of(service.compile(Text(given.name, given.sql)).plan, f"{given.name}.sql"))
    return found


@texts.post("/impact", summary="What a text would change for the jobs that read what the deployed one writes")
def impact(given: Sql, service: Asked, _: Reader) -> dict[str, Any]:
    return impact_of(service, Text(given.name, given.sql))
