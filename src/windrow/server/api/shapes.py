"""What requests and answers look like: the models that the OpenAPI description is made from."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid", from_attributes=True)


class Sql(Shape):
    sql: str = Field(max_length=1_000_000, examples=["SELECT COUNT(*) AS n FROM t"])
    name: str = Field(default="query", max_length=63, pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", examples=["orders"])


Files = Annotated[
    dict[str, str],
    Field(
        default={},
        max_length=200,
        description="what lies beside windrow.yaml and is needed: SQL that it includes, Python functions, small tables; by their paths",
        examples=[{"sources.sql": "CREATE STREAM t (v INT) WITH ('connector' = 'generator');"}],
    ),
]
Env = Annotated[str, Field(default="", max_length=63, pattern=r"^([A-Za-z0-9_][A-Za-z0-9_-]*)?$", examples=["prod"])]
Project = Annotated[str, Field(default="", max_length=200_000, description="the windrow.yaml that belongs to the text")]


class Looked(Sql):
    project: Project
    files: Files
    env: Env


class Texted(Looked):
    message: str = Field(default="", max_length=500, examples=["count returns, too"])


class Deploy(Texted):
    start: bool = Field(default=True, description="whether the job is to run; it goes on running where it does")


class Desire(Shape):
    desired: Literal["running", "stopped", "paused"] = Field(examples=["stopped"])


class NewPlan(Shape):
    """The text to go to, or the number of a version that there is."""

    sql: str | None = Field(default=None, max_length=1_000_000)
    version: int | None = Field(default=None, ge=1, le=1_000_000_000, examples=[2])
    project: Project
    files: Files
    env: Env
    message: str = Field(default="", max_length=500)
    strategy: str = Field(
        default="cut",
        max_length=20,
        description="where the state cannot simply follow: cut or mix; rebuild and blue-green are not for servers",
        examples=["cut"],
    )


class GoBack(Shape):
    message: str = Field(default="", max_length=500, description="why, for the history")
    to: int | None = Field(default=None, ge=1, le=1_000_000_000, description="a version; the one before if left out", examples=[1])


class Restore(Shape):
    batch: int = Field(ge=0, le=10**15, examples=[120])
    job: str | None = Field(default=None, max_length=200, description="needed where a file has several jobs")


class Promotion(Shape):
    to: str = Field(min_length=1, max_length=63, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]*$", examples=["prod"])


class EnvironmentShape(Shape):
    name: str = Field(max_length=63, pattern=r"^[A-Za-z0-9_][A-Za-z0-9_-]*$", examples=["prod"])
    is_protected: bool = Field(description="whether what runs there is planned by one and approved by another")


class NewFlag(Shape):
    name: str = Field(max_length=63, examples=["NEW_RULES"])
    value: str | None = Field(default=None, max_length=2000, description="none takes it away", examples=["on"])
    env: str = Field(default="", max_length=63, pattern=r"^([A-Za-z0-9_][A-Za-z0-9_-]*)?$", description="everywhere where left out")
    is_secret: bool = Field(default=False, description="whether nobody is shown the value; so it is for names that tell it, too")


class FlagShape(Shape):
    seq: int
    name: str
    env: str
    value: str | None = Field(description="*** where it is a secret; none where the flag was taken away")
    at: int
    author: str
    is_secret: bool


class FlagWishShape(Shape):
    id: str
    name: str
    env: str
    value: str | None
    is_secret: bool
    at: int
    author: str
    approved_by: str
    approved_at: int | None


class FlagSet(Shape):
    """What came of setting a flag."""

    restart_to_take_up: list[str] = Field(description="jobs whose text names it")
    waits_for: str | None = Field(description="what somebody else has to approve, where a protected environment would have it")


class PlanShape(Shape):
    id: str
    deployment: str
    from_version: int = Field(description="0 where it is not deployed yet")
    to_version: int
    kind: str = Field(examples=["apply"], description="apply, rollback or restore")
    content: dict[str, Any] = Field(description="what the change does to each job, as windrow plan --format json has it")
    created_at: int
    created_by: str
    approved_by: str
    expires_at: int
    operation: str


class OperationShape(Shape):
    id: str
    kind: str
    deployment: str
    state: str = Field(examples=["running"], description="pending, running, succeeded or failed")
    step: str
    content: dict[str, Any]
    created_at: int
    created_by: str
    ended_at: int | None


class Query(Shape):
    query: str = Field(min_length=1, max_length=20_000, examples=["SELECT name, observed FROM system.jobs WHERE observed <> 'running'"])


class QueryResult(Shape):
    columns: list[str] = Field(examples=[["name", "observed"]])
    rows: list[list[Any]] = Field(examples=[[["orders", "running"]]])
    is_cut: bool = Field(description="whether there were more rows than are told")


class NewToken(Shape):
    name: str = Field(min_length=1, max_length=100, examples=["ci"])
    scopes: list[Literal["read", "data", "operate", "deploy", "admin"]] = Field(min_length=1, examples=[["read", "deploy"]])
    days: int | None = Field(default=None, ge=1, le=3650, description="how long it is good for; for ever where left out")


class SignIn(Shape):
    token: str = Field(min_length=1, max_length=200, examples=["wdr_..."])


class JobShape(Shape):
    name: str = Field(examples=["orders@prod"])
    pipeline: str
    env: str
    owner: str
    team: str
    tags: list[str]
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
    project: str
    files: dict[str, str]
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
    outcome: str
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


class DeployedShape(Shape):
    """``operation`` is to be watched where the state has to be carried over."""

    job: JobShape
    operation: OperationShape | None


class Problem(BaseModel):
    """What went wrong, as RFC 9457 has it, with our code, place and hint."""

    title: str = Field(examples=['there is no job "orderz"'])
    status: int = Field(examples=[404])
    code: str = Field(default="", examples=["WR922"])
    hint: str | None = Field(default=None, examples=["there are: orders"])
    diagnostics: list[dict[str, Any]] | None = Field(default=None, description="of SQL: each fault with its line and column")
    errors: list[dict[str, Any]] | None = Field(default=None, description="of a request: each field that is wrong")
