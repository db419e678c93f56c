"""What requests and answers look like: the models that the OpenAPI description is made from."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", from_attributes=True)


class Sql(Shape):
    sql: str = Field(max_length=1_000_000, examples=["SELECT COUNT(*) AS n FROM t"])
    name: str = Field(default="query", max_length=63, pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", examples=["orders"])


class Deploy(Sql):
    message: str = Field(default="", max_length=500, examples=["count returns, too"])
    start: bool = Field(default=True, description="whether the job is to run; it goes on running where it does")


class Desire(Shape):
    desired: Literal["running", "stopped"]


class NewToken(Shape):
    name: str = Field(min_length=1, max_length=100, examples=["ci"])
    scopes: list[Literal["read", "data", "operate", "deploy", "admin"]] = Field(min_length=1, examples=[["read", "deploy"]])
    days: int | None = Field(default=None, ge=1, le=3650, description="how long it is good for; for ever where left out")


class SignIn(Shape):
    token: str = Field(min_length=1, max_length=200)


class JobShape(Shape):
    name: str
    owner: str
    description: str
    version: int
    desired: str
    observed: str
    why: str
    changed_at: int
    jobs: list[dict[str, Any]] = Field(
        default=[], description="what the job says of itself, as /status of the job has it; empty while it does not run"
    )


class VersionShape(Shape):
    n: int
    sql: str
    message: str
    author: str
    created_at: int


class RunShape(Shape):
    id: str
    version: int
    pid: int | None
    started_at: int
    ended_at: int | None
    exit_code: int | None
    message: str


class EventShape(Shape):
    seq: int
    at: int
    level: str
    type: str
    pipeline: str
    message: str


class TokenShape(Shape):
    id: str
    name: str
    scopes: list[str]
    created_at: int
    expires_at: int | None
    last_used: int | None


class MadeToken(Shape):
    id: str
    token: str = Field(description="shown this once")


class AuditShape(Shape):
    seq: int
    at: int
    token: str
    verb: str
    target: str
    details: str


class LogShape(Shape):
    lines: list[str]


class Problem(BaseModel):
    title: str
    status: int
    code: str = ""
    hint: str | None = None
