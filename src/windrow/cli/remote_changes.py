"""``windrow plan``, ``apply``, ``rollback``, ``history`` and ``events`` with ``--server``: what a server does with its jobs."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from windrow.cli.arguments import Form
from windrow.cli.change_text import text_of
from windrow.cli.deployments import client_of
from windrow.cli.files import stem
from windrow.cli.sending import parcel_of
from windrow.errors import UsageError

if TYPE_CHECKING:
    from windrow.server.client import Client

_LOOK = 0.5
PROTECTED = "WR938"


@dataclass(frozen=True)
class Remote:
    """A job of a server. ``target`` is the file of its text, or its name."""

    server: str
    target: str
    env: str = ""
    token_file: Path | None = None

    @property
    def name(self) -> str:
        own = stem(self.target) if Path(self.target).is_file() else self.target
        return f"{own}@{self.env}" if self.env and "@" not in own else own

    @property
    def client(self) -> Client:
        return client_of(self.server, self.token_file)

    def made_plan(self, strategy: str, message: str) -> dict[str, Any]:
        pipeline, _, env = self.name.partition("@")
        parcel = parcel_of(self.target)
        return self.client.plan(
            pipeline, parcel.sql, env=env, project=parcel.project, files=parcel.files, strategy=strategy, message=message
        )


def plan_there(remote: Remote, form: Form, *, strategy: str, message: str = "") -> dict[str, Any]:
    """Gives the plan, after it is shown."""
    plan = remote.made_plan(strategy, message)
    if form is Form.json:
        print(json.dumps(plan))
        return plan
    print(f"plan {plan['id']}: {plan['deployment']}, version {plan['from_version'] or 'none'} -> {plan['to_version']}")
    for job in plan["content"]["jobs"]:
        print(f"\n{text_of(job)}")
    return plan


def apply_there(remote: Remote, *, yes: bool, message: str, strategy: str) -> None:
    plan = plan_there(remote, Form.text, strategy=strategy, message=message)
    if plan["content"]["can_apply"] and not yes and not typer.confirm("\nApply it?"):
        raise typer.Exit(1)
    ready = _approved(remote, plan) or plan
    done = remote.client.apply(ready["id"], key=ready["id"])
    print(f"{plan['deployment']}: {done['step']}")


def _approved(remote: Remote, plan: Mapping[str, Any]) -> dict[str, Any] | None:
    """A plan of before for the very same change, which somebody has approved."""
    alike = ("deployment", "kind", "from_version", "to_version")
    plans = remote.client.plans(str(plan["deployment"]))
    return next((one for one in plans if one["approved_by"] and not one["operation"] and all(one[k] == plan[k] for k in alike)), None)


def roll_back_there(remote: Remote, to: int | None, *, yes: bool, message: str) -> None:
    if not yes and not typer.confirm(f"Take {remote.name} back to {'the version before' if to is None else f'version {to}'}?"):
        raise typer.Exit(1)
    try:
        print(f"{remote.name}: {remote.client.rollback(remote.name, to, message)['step']}")
    except UsageError as error:
        if error.code != PROTECTED:
            raise
        plan = remote.client.plan_rollback(remote.name, to)
        if (ready := _approved(remote, plan)) is None:
            print(f"plan {plan['id']}: {remote.name} back to version {plan['to_version']}")
            print(f"somebody else approves it: windrow approve {plan['id']} --server {remote.server}")
            raise typer.Exit(1) from None
        print(f"{remote.name}: {remote.client.apply(ready['id'], key=ready['id'])['step']}")


def history_there(remote: Remote, form: Form, text: int | None) -> None:
    """``text``: print the text of this version, and nothing else."""
    client = remote.client
    versions = client.versions(remote.name)
    if text is not None:
        from windrow.cli.changed_jobs import no_version

        found = next((one for one in versions if one["n"] == text), None)
        if found is None:
            raise no_version(text, sorted(one["n"] for one in versions))
        print(found["sql"])
        return
    if form is Form.json:
        print(json.dumps({"versions": versions, "state": client.history(remote.name)}))
        return
    present = client.job(remote.name)["version"]
    for one in versions:
        mark = " (runs)" if one["n"] == present else ""
        print(f"{one['n']:>4}  {_at(one['created_at'])}  {one['author']}  {one['message']}{mark}".rstrip())
    for one in client.history(remote.name):
        what = one["message"] or "; ".join(one["changes"]) or "the first"
        print(f"      state of job {one['job']} from batch {one['from_batch']} on: {what}")


def events_there(remote: Remote, *, follow: bool, most: int, form: Form) -> None:
    client, name = remote.client, remote.name if remote.target else None
    found = client.events(name, most or 1000)
    for event in found:
        _print_event(event, form)
    last = found[-1]["seq"] if found else 0
    while follow:
        time.sleep(_LOOK)
        for event in client.events(name, 1000, last):
            _print_event(event, form)
            last = event["seq"]


def _print_event(event: Mapping[str, Any], form: Form) -> None:
    text = f"{_at(event['at'])}  {event['level']:<7}  {event['type']}  {event['pipeline']}  {event['message']}"
    print(json.dumps(event) if form is Form.json else text, flush=True)


def _at(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
