"""A text without any job: checked, explained, formatted, and where its columns come from and go to."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter

from windrow.lineage import lineage_of
from windrow.lineage.report import lineage_to_json
from windrow.server.api.problems import diagnostic_json
from windrow.server.api.routes import REFUSALS, Asked, Reader
from windrow.server.api.shapes import Looked, Sql
from windrow.server.impact import impact_of
from windrow.server.texts import Text
from windrow.sql import canonical_layout

texts = APIRouter(prefix="/api/v1", responses=REFUSALS, tags=["sql"])


@texts.post("/check", summary="What is wrong with a text, and what may surprise")
def check(given: Looked, service: Asked, who: Reader) -> dict[str, Any]:
    compiled = service.look_at(_text(given), who)
    source = compiled.script.source
    return service.told({"ok": True, "warnings": [diagnostic_json(one, source) for one in compiled.warnings]}, who)


@texts.post("/explain", summary="How a text would run, and why so")
def explain(given: Looked, service: Asked, who: Reader) -> dict[str, Any]:
    compiled = service.look_at(_text(given), who)
    return service.told({"text": compiled.explain(), "plan": json.loads(compiled.explain("json"))}, who)


@texts.post("/fmt", summary="A text in canonical layout")
def format_text(given: Sql, _: Reader) -> dict[str, str]:
    return {"sql": canonical_layout(given.sql, f"{given.name}.sql")}


@texts.post("/lineage", summary="Which columns of a text follow from which")
def lineage(given: Looked, service: Asked, who: Reader) -> dict[str, Any]:
    return service.told(lineage_to_json(lineage_of(service.look_at(_text(given), who).plan, f"{given.name}.sql")), who)


@texts.post("/impact", summary="What a text would change for the jobs that read what the deployed one writes")
def impact(given: Looked, service: Asked, who: Reader) -> dict[str, Any]:
    return service.told(impact_of(service, _text(given), who), who)


def _text(given: Looked) -> Text:
    return Text(given.name, given.sql, given.project, given.env, tuple(sorted(given.files.items())))
