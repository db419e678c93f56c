"""Alerts: which there are and were, who takes them on, what is silenced, which rules hold, and who is told."""

from __future__ import annotations

import contextlib
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import Field

from windrow.errors import UsageError, WindrowError
from windrow.observe.alert_rules import AlertRule
from windrow.observe.alerts import RESOLVED, Alert
from windrow.server.alert_book import RuleChange, Silence
from windrow.server.alert_rules import changed
from windrow.server.alert_settings import ChannelSettings, Level
from windrow.server.alert_states import Standing
from windrow.server.alerting import Alerting
from windrow.server.api.routes import REFUSALS, Asked, Limit, Operator, Reader
from windrow.server.api.shapes import Shape
from windrow.server.notify import Notifier
from windrow.server.registry import now_millis
from windrow.server.service import Service

alerts = APIRouter(prefix="/api/v1", responses=REFUSALS, tags=["alerts"])
NOT_THERE, UNDELIVERED, OVER = "WR922", "WR943", "WR924"


class AlertShape(Shape):
    id: str
    rule: str
    job: str = Field(description="the deployment that it is about")
    labels: dict[str, str]
    level: str = Field(examples=["critical"], description="info, warning, critical or emergency")
    summary: str
    what_to_do: str
    state: str = Field(examples=["firing"], description="pending, firing or resolved")
    is_silenced: bool = Field(description="nobody is told of it: somebody wanted that")
    is_inhibited: bool = Field(description="nobody is told of it: its job has failed, which is told")
    value: float | None
    since: int = Field(description="when its condition began to hold")
    changed_at: int
    acknowledged_by: str


class NewSilence(Shape):
    rule: str = Field(default="", max_length=200, description="of every rule where left out", examples=["WindrowNoProgress"])
    job: str = Field(default="", max_length=200, description="of every job where left out", examples=["orders"])
    minutes: int = Field(ge=1, le=60 * 24 * 30, examples=[60])
    reason: str = Field(min_length=1, max_length=500, examples=["the broker is being upgraded"])


class SilenceShape(Shape):
    id: str
    rule: str
    job: str
    until_at: int
    created_by: str
    reason: str
    created_at: int


class RuleShape(Shape):
    name: str
    job: str
    expression: str = Field(description="PromQL, as windrow ops rules writes it")
    hold_seconds: float = Field(description="how long it must hold until somebody is told")
    level: str
    summary: str
    what_to_do: str
    is_own: bool = Field(description="whether it is an @alert of the file")
    is_on: bool


class NewRule(Shape):
    """What is left out is as the rule itself has it."""

    name: str = Field(min_length=1, max_length=200, examples=["WindrowThroughputDrop"])
    is_on: bool = True
    hold_seconds: int | None = Field(default=None, ge=0, le=7 * 86_400, examples=[300])
    level: Level | None = None


class ChannelShape(Shape):
    name: str
    type: str
    levels: list[str]
    jobs: list[str]
    rules: list[str]
    delivered_at: int | None = Field(description="when it took alerts last; none since the server began")
    failures: int = Field(description="of the last tries, how many failed one after the other")
    error: str


def alerting_of(request: Request) -> Alerting:
    found: Alerting = request.app.state.alerting
    return found


def notifier_of(request: Request) -> Notifier:
    found: Notifier = request.app.state.notifier
    return found


Judged = Annotated[Alerting, Depends(alerting_of)]
Told = Annotated[Notifier, Depends(notifier_of)]
Job = Annotated[str | None, Query(max_length=130, description="of this job only")]
State = Annotated[Literal["pending", "firing", "resolved"] | None, Query(description="in this state only")]


@alerts.get("/alerts", summary="Every alert that is, then those that are over, newest first", response_model=list[AlertShape])
def list_alerts(judged: Judged, _: Reader, state: State = None, job: Job = None, limit: Limit = 200) -> list[AlertShape]:
    now, active = now_millis(), judged.book.active()
    standing = Standing(active, judged.book.silences(now), now)
    over = judged.book.over(limit, job) if state in (None, RESOLVED) else []
    found = [one for one in [*reversed(active), *over] if state in (None, one.state) and job in (None, one.job)]
    return [alert_shape(one, standing) for one in found[:limit]]


@alerts.post("/alerts/{alert_id}/ack", summary="Somebody takes it on: it is not told again")
def acknowledge(alert_id: str, judged: Judged, service: Asked, token: Operator) -> AlertShape:
    found = judged.book.alert(alert_id)
    if found is None:
        raise UsageError(NOT_THERE, f'there is no alert "{alert_id}"', "GET /api/v1/alerts lists them")
    if found.state == RESOLVED:
        raise UsageError(OVER, f"{found.rule} of {found.job} is over", "GET /api/v1/alerts?state=firing")
    judged.book.acknowledge(alert_id, token.name)
    service.registry.note(token.name, "acknowledge", found.job, found.rule)
    service.registry.add_event("alert.acknowledged", found.job, f"{found.rule} by {token.name}")
    now, active = now_millis(), judged.book.active()
    return next(alert_shape(one, Standing(active, judged.book.silences(now), now)) for one in active if one.id == alert_id)


# Silences


@alerts.get("/silences", summary="What nobody is told of for a while", response_model=list[SilenceShape])
def silences(judged: Judged, _: Reader) -> list[SilenceShape]:
    return [_silence(one) for one in judged.book.silences()]


@alerts.post("/silences", summary="Nobody is told of a rule, or of a job, for a while", status_code=201)
def silence(given: NewSilence, judged: Judged, service: Asked, token: Operator) -> SilenceShape:
    made = judged.book.silence(given.rule, given.job, given.minutes, token.name, given.reason)
    what = f"{given.rule or 'every alert'} for {given.minutes} minutes: {given.reason}"
    service.registry.note(token.name, "silence", given.job, what)
    service.registry.add_event("alert.silenced", given.job, f"{what} (by {token.name})")
    return _silence(made)


@alerts.delete("/silences/{silence_id}", summary="End one", status_code=204)
def end_silence(silence_id: str, judged: Judged, service: Asked, token: Operator) -> None:
    if not judged.book.end_silence(silence_id):
        raise UsageError(NOT_THERE, f'there is no silence "{silence_id}"', "GET /api/v1/silences lists them")
    service.registry.note(token.name, "end silence", silence_id)
    service.registry.add_event("alert.silence_ended", "", f"by {token.name}")
    judged.tell()


# Rules and channels


@alerts.get("/alert-rules", summary="Every rule of every job, or of one", response_model=list[RuleShape])
def rules(judged: Judged, service: Asked, _: Reader, job: Job = None) -> list[RuleShape]:
    return _rules(job, judged, service) if job else _every_rule(judged, service)


@alerts.put("/alert-rules", summary="Switch a rule off or on for all jobs, or change how long it must hold", response_model=list[RuleShape])
def change_rule(given: NewRule, judged: Judged, service: Asked, token: Operator) -> list[RuleShape]:
    known = dict.fromkeys(one.name for one in _every_rule(judged, service))
    if known and given.name not in known:
        raise UsageError(NOT_THERE, f'there is no rule "{given.name}"', f"there are {', '.join(known)}")
    judged.book.change_rule(RuleChange(given.name, given.is_on, given.hold_seconds, given.level), token.name)
    service.registry.note(token.name, "change rule", given.name, given.model_dump_json(exclude={"name"}))
    return [one for one in _every_rule(judged, service) if one.name == given.name]


@alerts.get("/channels", summary="Who is told of alerts, and whether that works", response_model=list[ChannelShape])
def channels(told: Told, _: Reader) -> list[ChannelShape]:
    return [_channel(name, channel, told) for name, channel in told.channels.items()]


@alerts.post("/channels/{name}/test", summary="Send an alert there that says it is none", status_code=204)
def try_channel(name: str, told: Told, service: Asked, token: Operator) -> None:
    if name not in told.channels:
        known = ", ".join(told.channels)
        hint = f"there are {known}" if known else "windrow serve --alerts FILE names channels"
        raise UsageError(NOT_THERE, f'there is no channel "{name}"', hint)
    service.registry.note(token.name, "try channel", name)
    try:
        told.try_out(told.channels[name])
    except OSError as error:
        raise UsageError(
            UNDELIVERED, f"channel {name} did not take an alert: {error}", "its address and its secret are in the file of alerts"
        ) from None


def _every_rule(judged: Alerting, service: Service) -> list[RuleShape]:
    """Of the jobs whose text can still be compiled; a variable that is gone is told where the job is looked at."""
    found: list[RuleShape] = []
    for deployment in service.registry.deployments():
        with contextlib.suppress(WindrowError):
            found += _rules(deployment.name, judged, service)
    return found


def _rules(name: str, judged: Alerting, service: Service) -> list[RuleShape]:
    every, changes = judged.every_rule(service.job(name).deployment), judged.rule_changes()
    return [_rule(name, one, changes) for one in every]


def _rule(job: str, rule: AlertRule, changes: dict[str, RuleChange]) -> RuleShape:
    now = next(iter(changed([rule], changes)), None)
    told: dict[str, Any] = {
        field: getattr(now or rule, field) for field in ("name", "expression", "level", "summary", "what_to_do", "is_own")
    }
    return RuleShape(job=job, hold_seconds=(now or rule).hold, is_on=now is not None, **told)


def alert_shape(alert: Alert, standing: Standing) -> AlertShape:
    is_silenced = alert.state != RESOLVED and standing.silence(alert) is not None
    return AlertShape(**vars(alert), is_silenced=is_silenced, is_inhibited=standing.is_inhibited(alert))


def _silence(one: Silence) -> SilenceShape:
    return SilenceShape(**vars(one))


def _channel(name: str, channel: ChannelSettings, told: Notifier) -> ChannelShape:
    how = told.standing[name]
    return ChannelShape(
        name=name,
        type=str(getattr(channel, "type", "")),
        levels=list(channel.levels),
        jobs=list(channel.jobs),
        rules=list(channel.rules),
        delivered_at=how.delivered_at,
        failures=how.failures,
        error=how.error,
    )
