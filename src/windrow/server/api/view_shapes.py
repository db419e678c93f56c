"""What the views answer: for the OpenAPI description, and to be held to it by tests. More may be in an answer than is said here."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class View(BaseModel):
    model_config = ConfigDict(extra="allow")


def typed(model: Any) -> dict[str, Any]:
    """For a path whose answer is made elsewhere, and described here."""
    return {"response_model": None, "responses": {200: {"model": model, "description": "what was asked for"}}}


# For a path that answers with server-sent events.
STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "events, as long as the token is good", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}


class Finding(View):
    code: str = Field(examples=["WR284"])
    message: str
    hint: str | None = None
    severity: str = Field(examples=["warning"])
    line: int | None = None
    column: int | None = None


class Checked(View):
    ok: bool
    warnings: list[Finding]


class Explained(View):
    text: str
    plan: dict[str, Any] = Field(description="as windrow explain --format json has it")


class Formatted(View):
    sql: str = Field(examples=["SELECT COUNT(*) AS n\nFROM t;\n"])


class LineageEnd(View):
    namespace: str = Field(examples=["orders"])
    name: str
    column: str | None = None


class LineageEdge(View):
    output: LineageEnd
    input: LineageEnd
    type: str = Field(examples=["DIRECT"])
    subtype: str = Field(examples=["AGGREGATION"])
    expr: str | None


class Lineage(View):
    datasets: list[dict[str, Any]]
    edges: list[LineageEdge]


class Affected(View):
    kind: str = Field(examples=["output"])
    file: str | None
    name: str
    owner: str | None
    verdict: str = Field(examples=["values change"])
    because: str


class ImpactReader(View):
    job: str
    owner: str
    team: str
    verdict: str
    columns: dict[str, str]


class Impact(View):
    verdict: str = Field(examples=["breaks"])
    affected: list[Affected]
    outputs: dict[str, dict[str, str]]
    readers: list[ImpactReader]


class Word(View):
    text: str
    kind: str


class Completed(View):
    word: str
    words: list[Word]


class Node(View):
    name: str
    job: str
    kind: str
    title: str
    rows_in: int | None
    rows_out: int | None
    is_cause: bool


class NodeEdge(View):
    from_: str = Field(alias="from")
    to: str
    rows: int | None


class Topology(View):
    jobs: list[dict[str, Any]]
    nodes: list[Node]
    edges: list[NodeEdge]


class Batch(View):
    batch_id: int
    attempt: int
    at: int = Field(description="microseconds since the epoch")
    seconds: float
    rows_in: int
    rows_out: int
    phases: dict[str, float]
    dead_letters: dict[str, int]
    balanced: bool


class JobBatches(View):
    job: str
    batches: list[Batch]


class JobWindows(View):
    job: str
    statement: str
    window: str | None
    watermark: int | None
    total: int
    held: list[dict[str, Any]]
    sources: list[dict[str, Any]]


class Story(View):
    title: str
    is_held: bool
    why: list[str]
    text: str


class Stories(View):
    windows: list[Story]
    total: int


class Analysis(View):
    text: str
    late: list[dict[str, Any]]


class StateShape(View):
    job: str
    batch: int
    statements: list[dict[str, Any]]


class StateVersions(View):
    job: str
    runner: str | None
    is_ended: bool
    versions: list[dict[str, Any]]


class Facet(View):
    value: str
    count: int


class LetterSummary(View):
    total: int
    facets: dict[str, list[Facet]]


class Letters(LetterSummary):
    letters: list[dict[str, Any]]


class Letter(View):
    job: str
    id: str
    code: str
    why: list[str]


class Replayed(View):
    dry_run: bool
    jobs: list[dict[str, Any]]


class RowTold(View):
    place: str
    lines: list[str]
    letter: str = Field(description="the id of the dead letter that the row is; empty where it is none")


class Overview(View):
    jobs: int
    observed: dict[str, int]
    desired: dict[str, int]
    not_well: list[dict[str, Any]]
    alerts: dict[str, int]
    operations: int
    environments: list[dict[str, Any]]
    events: list[dict[str, Any]]


class DatasetShape(View):
    namespace: str = Field(examples=["kafka://broker:9092"])
    name: str = Field(examples=["orders"])
    writers: list[dict[str, Any]]
    readers: list[dict[str, Any]]
    columns: list[dict[str, str]]


class GroupShape(View):
    name: str = Field(examples=["all"])
    jobs: list[str]


class GroupTopology(View):
    files: list[dict[str, Any]]
    places: list[dict[str, Any]]
    conflicts: list[dict[str, Any]]


class GroupShared(View):
    shared: list[dict[str, Any]]


class Compared(View):
    from_: str = Field(alias="from")
    to: str
    verdict: str = Field(examples=["drift"])


class GroupDrift(View):
    verdict: str
    jobs: list[Compared]
    only_in: dict[str, list[str]]


class VersionDiff(View):
    from_: int = Field(alias="from")
    to: int
    lines: list[str]
    jobs: list[dict[str, Any]]
    error: str | None


class HistoryEntry(View):
    job: str


class Me(View):
    name: str
    scopes: list[str]


class Told(View):
    """One thing that a job says of itself."""

    deployment: str
