"""Plans, approvals, operations; environments and flags."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Response

from windrow.changes import Strategy
from windrow.errors import UsageError
from windrow.server.api.routes import (
    REFUSALS,
    Admin,
    Asked,
    Changes,
    Deployer,
    Operator,
    Reader,
    operation_shape,
)
from windrow.server.api.shapes import (
    EnvironmentShape,
    FlagSet,
    FlagShape,
    FlagWishShape,
    GoBack,
    NewFlag,
    NewPlan,
    OperationShape,
    PlanShape,
    Promotion,
    Restore,
)
from windrow.server.api.view_shapes import Compared, HistoryEntry, typed
from windrow.server.books import FlagWish, Operation, Plan, Who
from windrow.server.comparing import compare
from windrow.server.registry import Token
from windrow.server.secrets import shown_flag
from windrow.server.texts import Text
from windrow.server.tokens import DEPLOY, may

changes = APIRouter(prefix="/api/v1", responses=REFUSALS)
Key = Annotated[str, Header(alias="Idempotency-Key", max_length=200, description="the same key is the same wish")]


@changes.post("/pipelines/{name}/plans", tags=["changes"], summary="What a text would do to the job and its state", status_code=201)
def plan(name: str, given: NewPlan, service: Asked, changing: Changes, token: Deployer, answer: Response) -> PlanShape:
    if (given.sql is None) == (given.version is None):
        raise UsageError("WR926", "a plan is for a text or for a version", '{"version": 2} or {"sql": "..."}')
    text = Text(name, given.sql or "", given.project, given.env, tuple(sorted(given.files.items())))
    if given.version is not None:
        chosen = service.registry.version(name, given.version)
        if chosen is None:
            raise UsageError("WR922", f"{name} has no version {given.version}", f"GET /api/v1/pipelines/{name}/versions lists them")
        text = Text.of(chosen, given.env)
    made = changing.plan(text, who(token), given.message, Strategy.of(given.strategy))
    answer.headers["Location"] = f"/api/v1/plans/{made.id}"
    return _plan(made)


@changes.get("/pipelines/{name}/plans", tags=["changes"], summary="The plans of a job, newest first", response_model=list[PlanShape])
def plans(name: str, service: Asked, _: Reader) -> list[PlanShape]:
    return [_plan(one) for one in service.books.plans(name)]


@changes.get("/plans/{plan_id}", tags=["changes"], summary="One plan")
def show_plan(plan_id: str, changing: Changes, _: Reader) -> PlanShape:
    return _plan(changing.found_plan(plan_id))


@changes.post("/plans/{plan_id}/approve", tags=["changes"], summary="Approve it; whoever made it cannot")
def approve(plan_id: str, changing: Changes, token: Deployer) -> PlanShape:
    return _plan(changing.approve(plan_id, who(token)))


@changes.post("/plans/{plan_id}/apply", tags=["changes"], summary="Do it; 409 where something else was deployed since", status_code=202)
def apply(plan_id: str, changing: Changes, token: Operator, answer: Response, key: Key = "") -> OperationShape:
    found = changing.found_plan(plan_id)
    if not found.approved_by and not may(token, DEPLOY):
        # Whoever may only operate applies what another has looked at.
        raise UsageError("WR940", f"nobody has approved plan {plan_id}", f"POST /api/v1/plans/{plan_id}/approve, or a token with deploy")
    return _started(changing.apply(plan_id, token.name, key), answer)


@changes.post("/deployments/{name}/rollback", tags=["changes"], summary="Back to a version that ran before", status_code=202)
def rollback(name: str, given: GoBack, changing: Changes, token: Operator, answer: Response, key: Key = "") -> OperationShape:
    return _started(changing.rollback(name, given.to, token.name, key, given.message), answer)


@changes.post(
    "/deployments/{name}/rollback/plan", tags=["changes"], summary="A plan to go back, where somebody else approves that", status_code=201
)
def plan_rollback(name: str, given: GoBack, changing: Changes, token: Deployer, answer: Response) -> PlanShape:
    made = changing.plan_rollback(name, given.to, who(token))
    answer.headers["Location"] = f"/api/v1/plans/{made.id}"
    return _plan(made)


@changes.post("/deployments/{name}/restore", tags=["changes"], summary="Back to where it stood after a batch", status_code=202)
def restore(name: str, given: Restore, changing: Changes, token: Operator, answer: Response, key: Key = "") -> OperationShape:
    return _started(changing.restore(name, given.batch, token.name, given.job, key), answer)


@changes.post(
    "/deployments/{name}/restore/plan",
    tags=["changes"],
    summary="A plan to go back to a batch, where somebody else approves that",
    status_code=201,
)
def plan_restore(name: str, given: Restore, changing: Changes, token: Deployer, answer: Response) -> PlanShape:
    made = changing.plan_restore(name, given.batch, who(token), given.job)
    answer.headers["Location"] = f"/api/v1/plans/{made.id}"
    return _plan(made)


@changes.post("/deployments/{name}/promote", tags=["changes"], summary="A plan to run its version in another environment", status_code=201)
def promote(name: str, given: Promotion, changing: Changes, token: Deployer, answer: Response) -> PlanShape:
    made = changing.promote(name, given.to, who(token))
    answer.headers["Location"] = f"/api/v1/plans/{made.id}"
    return _plan(made)


@changes.get(
    "/deployments/{name}/history",
    tags=["changes"],
    summary="The versions that its state went through, oldest first",
    **typed(list[HistoryEntry]),
)
def history(name: str, changing: Changes, _: Reader) -> list[dict[str, Any]]:
    return changing.history(name)


@changes.get("/operations", tags=["changes"], summary="Long operations, newest first", response_model=list[OperationShape])
def operations(service: Asked, _: Reader) -> list[OperationShape]:
    return [operation_shape(one) for one in service.books.operations()]


@changes.get("/operations/{operation_id}", tags=["changes"], summary="How far one has come")
def operation(operation_id: str, changing: Changes, _: Reader) -> OperationShape:
    return operation_shape(changing.operation(operation_id))


# Environments and flags


@changes.get("/environments", tags=["environments"], summary="Every environment", response_model=list[EnvironmentShape])
def environments(service: Asked, _: Reader) -> list[EnvironmentShape]:
    return [EnvironmentShape(name=one.name, is_protected=one.is_protected) for one in service.books.environments()]


@changes.put("/environments", tags=["environments"], summary="Protect one, or lift that", status_code=204)
def protect(given: EnvironmentShape, service: Asked, token: Admin) -> None:
    service.protect(given.name, token.name, is_protected=given.is_protected)


@changes.get(
    "/pipelines/{name}/diff",
    tags=["environments"],
    summary="How it differs between two environments, each with a verdict",
    **typed(Compared),
)
def diff(name: str, service: Asked, _: Reader, env1: str = "", env2: str = "") -> dict[str, Any]:
    return compare(service, name, env1, env2)


@changes.get("/flags", tags=["environments"], summary="Every value of every flag, newest first", response_model=list[FlagShape])
def flags(service: Asked, _: Reader, name: str | None = None) -> list[FlagShape]:
    told = service.books.flag_history(name)
    return [FlagShape(**{**vars(one), "value": shown_flag(one.name, one.value, is_secret=one.is_secret)}) for one in told]


@changes.put("/flags", tags=["environments"], summary="Set a flag, which texts name as ${NAME}")
def set_flag(given: NewFlag, service: Asked, token: Deployer, answer: Response) -> FlagSet:
    """202 where a protected environment would have it, and somebody else has to approve it."""
    wish = service.set_flag(given.name, given.env, given.value, who(token), is_secret=given.is_secret)
    if wish is not None:
        answer.status_code = 202
    return FlagSet(restart_to_take_up=service.named_by(given.name, given.env), waits_for=None if wish is None else wish.id)


@changes.get("/flags/waiting", tags=["environments"], summary="Flags that somebody has to approve, newest first")
def flags_waiting(service: Asked, _: Reader) -> list[FlagWishShape]:
    return [_wish(one) for one in service.books.flag_wishes() if one.approved_at is None]


@changes.post("/flags/waiting/{wish_id}/approve", tags=["environments"], summary="Approve a flag; whoever asked for it cannot")
def approve_flag(wish_id: str, service: Asked, token: Deployer) -> FlagSet:
    wish = service.approve_flag(wish_id, who(token))
    return FlagSet(restart_to_take_up=service.named_by(wish.name, wish.env), waits_for=None)


def who(token: Token) -> Who:
    return Who(token.id, token.name)


def _wish(wish: FlagWish) -> FlagWishShape:
    told = {**vars(wish), "value": shown_flag(wish.name, wish.value, is_secret=wish.is_secret)}
    return FlagWishShape(**{name: told[name] for name in FlagWishShape.model_fields})


def _plan(plan: Plan) -> PlanShape:
    return PlanShape(**{name: getattr(plan, name) for name in PlanShape.model_fields})


def _started(operation: Operation, answer: Response) -> OperationShape:
    answer.headers["Location"] = f"/api/v1/operations/{operation.id}"
    return operation_shape(operation)
