"""Lineage as OpenLineage has it: events of a job or of a run, each with all datasets and the facet of column lineage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from windrow.lineage.fold import lineage_of
from windrow.lineage.graph import ROWS, ColumnRef, Dataset, Edge, EdgeKind, Lineage
from windrow.plan.stages import Job, Plan

PRODUCER = "urn:windrow"
NAMESPACE = "windrow"
_SPEC = "https://openlineage.io/spec"
_STRENGTH = (EdgeKind.IDENTITY, EdgeKind.TRANSFORMATION, EdgeKind.AGGREGATION)
# What the facet knows; which rows there are is a filter in its words.
_SUBTYPES = {EdgeKind.ROWS: "FILTER"}


class RunState(Enum):
    """The type of an event of a run."""

    START = "START"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"
    FAIL = "FAIL"
    ABORT = "ABORT"


@dataclass(frozen=True)
class JobText:
    """What is said of a job beside its columns. ``sql`` goes into events, so it must hold no secret."""

    name: str
    sql: str
    namespace: str = NAMESPACE
    owner: str | None = None
    description: str | None = None

    @staticmethod
    def of(name: str, sql: str, annotations: Mapping[str, str], namespace: str = NAMESPACE) -> JobText:
        return JobText(name, sql, namespace, annotations.get("owner"), annotations.get("description"))


@dataclass(frozen=True)
class RunText:
    """One event of a run. ``rows_in`` by source and ``rows_out`` by statement are those of this run, so far."""

    state: RunState
    run_id: str
    at: str
    version: int = 1
    engine: str = ""
    rows_in: Mapping[str, int] = field(default_factory=dict)
    rows_out: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None


def job_events(plan: Plan, file: str, sql: str, at: str) -> list[dict[str, Any]]:
    """``at`` is the time of the events, ISO 8601."""
    annotations = {key.lower(): value for key, value in plan.annotations}
    return [_job_event(lineage_of(Plan((job,)), file), JobText.of(job.name, sql, annotations), at) for job in plan.jobs]


def lineage_of_job(job: Job, file: str) -> Lineage:
    return lineage_of(Plan((job,)), file)


def run_event(lineage: Lineage, job: JobText, run: RunText) -> dict[str, Any]:
    """Every event has all datasets: a consumer may keep the last one only."""
    facets = {
        "processing_engine": _facet("1-1-1/ProcessingEngineRunFacet", {"name": "windrow", "version": run.engine}),
        "windrow_version": {"_producer": PRODUCER, "_schemaURL": f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunFacet", "version": run.version},
    }
    if run.error is not None:
        facets["errorMessage"] = _facet("1-0-1/ErrorMessageRunFacet", {"message": run.error, "programmingLanguage": "SQL"})
    return {
        "eventType": run.state.value,
        "eventTime": run.at,
        "producer": PRODUCER,
        "schemaURL": f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run.run_id, "facets": facets},
        "job": _job(job),
        "inputs": _inputs(lineage, run.rows_in),
        "outputs": _outputs(lineage, run.rows_out),
    }


def _job_event(lineage: Lineage, job: JobText, at: str) -> dict[str, Any]:
    return {
        "eventTime": at,
        "producer": PRODUCER,
        "schemaURL": f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/JobEvent",
        "job": _job(job),
        "inputs": _inputs(lineage, {}),
        "outputs": _outputs(lineage, {}),
    }


def _job(job: JobText) -> dict[str, Any]:
    facets = {
        "jobType": _facet("2-0-4/JobTypeJobFacet", {"processingType": "STREAMING", "integration": "WINDROW", "jobType": "QUERY"}),
        "sql": _facet("1-1-0/SQLJobFacet", {"query": job.sql, "dialect": "windrow"}),
    }
    if job.owner:
        facets["ownership"] = _facet("1-0-1/OwnershipJobFacet", {"owners": [{"name": job.owner}]})
    if job.description:
        facets["documentation"] = _facet("1-1-0/DocumentationJobFacet", {"description": job.description})
    return {"namespace": job.namespace, "name": job.name, "facets": facets}


def _inputs(lineage: Lineage, rows: Mapping[str, int]) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    for place in dict.fromkeys(place for _, place in lineage.reads):
        # Of a source of several topics nobody knows how many rows each has brought.
        readers = [own for own, outside in lineage.reads if outside == place]
        is_alone = all(outside == place for own, outside in lineage.reads if own in readers)
        read = _rows(readers, rows) if is_alone else None
        counted = {} if read is None else {"inputStatistics": _facet("1-0-0/InputStatisticsInputDatasetFacet", read)}
        told.append({**_name(place), "facets": {"schema": _schema(lineage, place)}, "inputFacets": counted})
    return told


def _outputs(lineage: Lineage, rows: Mapping[str, int]) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    for place in dict.fromkeys(place for _, place in lineage.writes):
        written = _rows([own for own, outside in lineage.writes if outside == place], rows)
        facets = (
            {} if written is None else {"outputFacets": {"outputStatistics": _facet("1-0-2/OutputStatisticsOutputDatasetFacet", written)}}
        )
        told.append({**_name(place), "facets": {"schema": _schema(lineage, place), "columnLineage": _columns(lineage, place)}, **facets})
    return told


def _rows(statements: list[Dataset], rows: Mapping[str, int]) -> dict[str, Any] | None:
    known = [rows[statement.name] for statement in statements if statement.name in rows]
    return {"rowCount": sum(known)} if known else None


def _facet(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    kind = name.rpartition("/")[2]
    return {"_producer": PRODUCER, "_schemaURL": f"{_SPEC}/facets/{name}.json#/$defs/{kind}", **fields}


def _name(dataset: Dataset) -> dict[str, str]:
    return {"namespace": dataset.namespace, "name": dataset.name}


def _schema(lineage: Lineage, place: Dataset) -> dict[str, Any]:
    beside = [own for own, outside in (*lineage.reads, *lineage.writes) if outside == place]
    types = lineage.types or {}
    fields: list[dict[str, str]] = []
    for name in lineage.columns[place]:
        known = next((types[ColumnRef(own, name)] for own in beside if ColumnRef(own, name) in types), None)
        fields.append({"name": name, **({} if known is None else {"type": known})})
    return _facet("1-2-0/SchemaDatasetFacet", {"fields": fields})


def _columns(lineage: Lineage, place: Dataset) -> dict[str, Any]:
    """For each column the columns outside that its value is made of; those that decide about all rows stand once, for the dataset."""
    by_output: dict[ColumnRef, list[Edge]] = {}
    for edge in lineage.edges:
        by_output.setdefault(edge.output, []).append(edge)
    fields = {name: {"inputFields": _fields(ColumnRef(place, name), by_output)} for name in lineage.columns[place]}
    return _facet("1-2-0/ColumnLineageDatasetFacet", {"fields": fields, "dataset": _fields(ColumnRef(place, ROWS), by_output)})


def _fields(column: ColumnRef, by_output: dict[ColumnRef, list[Edge]]) -> list[dict[str, Any]]:
    found: dict[ColumnRef, dict[EdgeKind, str]] = {}
    _collect(column, EdgeKind.IDENTITY if column.column != ROWS else EdgeKind.ROWS, "", by_output, found, set())
    return [
        {**_name(origin.dataset), "field": origin.column, "transformations": [_transformation(kind, text) for kind, text in kinds.items()]}
        for origin, kinds in found.items()
    ]


def _collect(
    column: ColumnRef,
    kind: EdgeKind,
    text: str,
    by_output: dict[ColumnRef, list[Edge]],
    found: dict[ColumnRef, dict[EdgeKind, str]],
    seen: set[tuple[ColumnRef, EdgeKind]],
) -> None:
    """Every column outside that a column goes back to, with the strongest that happens to it on the way."""
    if (column, kind) in seen:
        return
    seen.add((column, kind))
    for edge in by_output.get(column, ()):
        now, said = _together(edge.kind, kind), text or edge.expr
        if edge.input.dataset.is_outside:
            if edge.input.column != ROWS:
                found.setdefault(edge.input, {}).setdefault(now, said)
            continue
        _collect(edge.input, now, said, by_output, found, seen)


def _together(inner: EdgeKind, outer: EdgeKind) -> EdgeKind:
    if outer is EdgeKind.ROWS or (outer.is_direct and not inner.is_direct):
        return inner
    if not outer.is_direct:
        return outer
    return max(inner, outer, key=_STRENGTH.index)


def _transformation(kind: EdgeKind, text: str) -> dict[str, Any]:
    return {
        "type": "DIRECT" if kind.is_direct else "INDIRECT",
        "subtype": _SUBTYPES.get(kind, kind.value.upper()),
        "description": text,
        "masking": False,
    }
