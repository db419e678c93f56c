"""One job in two environments: what differs in version, configuration and schema, and what that means."""

from __future__ import annotations

from typing import Any

from windrow.config.environments import every_value, masked
from windrow.errors import WindrowError
from windrow.lineage import lineage_of
from windrow.server.registry import Deployment, deployment_name
from windrow.server.secrets import stand_ins
from windrow.server.service import Service
from windrow.server.texts import Text, environment_of

SAME, DIFFERS, DRIFT = "same", "differs as it is meant to", "drift"
BEHIND, BREAKS = "behind", "readers of one cannot read the other"


def compare(service: Service, pipeline: str, env1: str, env2: str) -> dict[str, Any]:
    """A verdict for version, configuration and schema, and the worst of them for all."""
    names = [deployment_name(pipeline, env) for env in (env1, env2)]
    one, two = (service.job(name).deployment for name in names)
    parts = {
        "version": _versions(one, two),
        "configuration": _configuration(service, one, two),
        "schema": _schema(service, one, two),
    }
    is_same = all(part["verdict"] == SAME for part in parts.values())
    worst = next((v for v in (BREAKS, DRIFT, BEHIND, DIFFERS) if any(part["verdict"] == v for part in parts.values())), SAME)
    return {"from": names[0], "to": names[1], "verdict": SAME if is_same else worst, **parts}


def _versions(one: Deployment, two: Deployment) -> dict[str, Any]:
    verdict = SAME if one.version == two.version else BEHIND
    return {"verdict": verdict, "values": [one.version, two.version]}


def _configuration(service: Service, one: Deployment, two: Deployment) -> dict[str, Any]:
    """Values of windrow.yaml are meant to differ; flags that differ were set by hand, and are drift."""
    values, flags = zip(*((_values(service, each), service.books.flags(each.env)) for each in (one, two)), strict=True)
    meant = _differences(*values)
    drifted = _differences(*flags)
    return {"verdict": DRIFT if drifted else DIFFERS if meant else SAME, "values": meant, "flags": drifted}


def _values(service: Service, deployment: Deployment) -> dict[str, str]:
    version = service.version(deployment.name, deployment.version)
    if not version.project:
        return {}
    text = Text.of(version, deployment.env)
    found = environment_of(text, stand_ins([text.project], service.books.flags(deployment.env)))
    return {".".join(value.path): masked(value.path, value.text, value.raw) for value in every_value(found)}


def _schema(service: Service, one: Deployment, two: Deployment) -> dict[str, Any]:
    try:
        shapes = [_outputs(service, each.name) for each in (one, two)]
    except WindrowError as error:
        return {"verdict": DRIFT, "values": {}, "error": error.message}
    found = _differences(*shapes)
    is_lost = any(pair[1] is None or (pair[0] is not None and pair[0] != pair[1]) for pair in found.values())
    return {"verdict": BREAKS if is_lost else DIFFERS if found else SAME, "values": found}


def _outputs(service: Service, name: str) -> dict[str, str]:
    lineage = lineage_of(service.compiled(name).plan, name)
    written = {own for own, _ in lineage.writes}
    types = lineage.types or {}
    return {
        f"{own.name}.{column}": next((type_ for ref, type_ in types.items() if (ref.dataset, ref.column) == (own, column)), "")
        for own, columns in lineage.columns.items()
        if own in written
        for column in columns
    }


def _differences(one: dict[str, str], two: dict[str, str]) -> dict[str, list[str | None]]:
    names = sorted({*one, *two})
    return {name: [one.get(name), two.get(name)] for name in names if one.get(name) != two.get(name)}
