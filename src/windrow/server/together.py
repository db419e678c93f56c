"""Jobs looked at together: all of them at a glance, what they read and write, groups, versions against each other."""

from __future__ import annotations

import difflib
from collections import Counter
from typing import Any

from windrow.changes.classify import changes_between
from windrow.errors import UsageError, WindrowError
from windrow.groups import Group, Member
from windrow.groups.report import GroupReport
from windrow.observe.alerts import FIRING
from windrow.plan.explain_json import job_to_json
from windrow.server.alert_book import AlertBook
from windrow.server.comparing import BEHIND, BREAKS, DIFFERS, DRIFT, SAME, compare
from windrow.server.job_views import analysis_of, job_file
from windrow.server.secrets import shown_text
from windrow.server.service import Service

ALL = "all"
_NOT_THERE = "WR922"
_EVENTS, _BATCHES = 20, 100


def overview(service: Service, alerts: AlertBook) -> dict[str, Any]:
    """From the registry alone, however many jobs there are."""
    deployments = service.registry.deployments()
    firing = [one for one in alerts.active() if one.state == FIRING]
    return {
        "jobs": len(deployments),
        "observed": dict(Counter(one.observed for one in deployments)),
        "desired": dict(Counter(one.desired for one in deployments)),
        "not_well": [{"name": one.name, "observed": one.observed, "why": one.why} for one in deployments if one.why],
        "alerts": dict(Counter(one.level for one in firing)),
        "operations": len(service.books.unfinished()),
        "environments": [{"name": one.name, "is_protected": one.is_protected} for one in service.books.environments()],
        "events": [vars(one) for one in service.registry.events(0, None, _EVENTS, newest=True)],
    }


def datasets(service: Service) -> list[dict[str, Any]]:
    """What lies outside: every topic, table and folder with who writes and who reads it."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for member in service.members():
        for side, accesses in (("writers", member.writes), ("readers", member.reads)):
            for access in accesses:
                key = access.place.namespace, access.place.name
                one = found.setdefault(key, {"namespace": key[0], "name": key[1], "writers": [], "readers": [], "columns": {}})
                one[side].append({"job": member.file, "statement": access.statement, "connector": access.connector})
                for column in access.columns:
                    one["columns"].setdefault(column.name, str(column.type))
    return [{**one, "columns": [{"name": n, "type": t} for n, t in one["columns"].items()]} for _, one in sorted(found.items())]


# Groups: those that texts name by @group, a team, a tag; and all of them.


def groups(service: Service) -> list[dict[str, Any]]:
    names: dict[str, list[str]] = {}
    for job in service.jobs():
        for name in dict.fromkeys((ALL, job.pipeline.grp, job.pipeline.team, *job.pipeline.tags)):
            if name:
                names.setdefault(name, []).append(job.deployment.name)
    return [{"name": name, "jobs": sorted(jobs)} for name, jobs in sorted(names.items())]


def members_of(service: Service, group: str) -> list[Member]:
    jobs = next((one["jobs"] for one in groups(service) if one["name"] == group), None)
    if jobs is None:
        known = ", ".join(one["name"] for one in groups(service))
        hint = f"there are: {known}" if known else "-- @group: NAME before a statement puts its job into one"
        raise UsageError(_NOT_THERE, f'there is no group "{group}"', hint)
    return [one for one in service.members() if one.file in jobs]


def group_topology(service: Service, group: str) -> dict[str, Any]:
    """Who reads and writes what, and where they do not fit together."""
    told = GroupReport.of(Group(tuple(members_of(service, group))), {}).to_json()
    return {key: told[key] for key in ("files", "places", "conflicts")}


def group_shared(service: Service, group: str) -> dict[str, Any]:
    """What is computed once for several, and what could be; with the figures of the last runs."""
    members = members_of(service, group)
    figures = {}
    for member in members:
        for observed in job_file(service, member.file).observed:
            analysis = analysis_of(observed, _BATCHES)
            if analysis is not None:
                figures[member.file, observed.job.name] = analysis
    told = GroupReport.of(Group(tuple(members)), figures).to_json()
    return {key: value for key, value in told.items() if key not in ("files", "places", "conflicts")}


def group_drift(service: Service, group: str, env1: str, env2: str) -> dict[str, Any]:
    """Each job of the group that is in both environments, and those that are in one alone."""
    there: dict[str, set[str]] = {}
    for member in members_of(service, group):
        pipeline, _, env = member.file.partition("@")
        there.setdefault(pipeline, set()).add(env)
    jobs = [compare(service, pipeline, env1, env2) for pipeline, envs in sorted(there.items()) if {env1, env2} <= envs]
    alone = {
        env: sorted(p for p, envs in there.items() if env in envs and other not in envs) for env, other in ((env1, env2), (env2, env1))
    }
    worst = next((v for v in (BREAKS, DRIFT, BEHIND, DIFFERS) if any(one["verdict"] == v for one in jobs)), SAME)
    return {"verdict": worst, "jobs": jobs, "only_in": alone}


def version_diff(service: Service, pipeline: str, n: int, m: int, env: str) -> dict[str, Any]:
    """From version ``n`` to ``m``: the lines of the text, and what changes for each job that both have."""
    versions = [service.version(pipeline, number) for number in (n, m)]
    old, new = (shown_text(one.sql).splitlines() for one in versions)
    lines = list(difflib.unified_diff(old, new, f"version {n}", f"version {m}", lineterm=""))
    told: dict[str, Any] = {"from": n, "to": m, "lines": lines, "has_other_project": versions[0].project != versions[1].project}
    try:
        before, after = ({job.name: job_to_json(job) for job in service.compiled_in(one, env).plan.jobs} for one in versions)
    except WindrowError as error:
        return {**told, "jobs": [], "error": f"[{error.code}] {error.message}"}
    return {**told, "jobs": [_changes(name, before.get(name), after.get(name)) for name in dict.fromkeys([*before, *after])], "error": None}


def _changes(name: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> dict[str, Any]:
    if before is None or after is None:
        return {"job": name, "is": "new" if before is None else "gone", "changes": []}
    found = changes_between(before, after)
    told = [{"statement": one.statement, "what": one.what, "class": one.klass.value, "reason": one.reason} for one in found]
    return {"job": name, "is": "changed" if told else "same", "changes": told}
