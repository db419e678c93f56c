"""Lineage as OpenLineage has it: one JobEvent for each job of a file, with all datasets and the facet of column lineage."""

from __future__ import annotations

from typing import Any

from windrow.lineage.fold import lineage_of
from windrow.lineage.graph import ROWS, ColumnRef, Dataset, Edge, EdgeKind, Lineage
from windrow.plan.stages import Plan

PRODUCER = "urn:windrow"
_SPEC = "https://openlineage.io/spec"
_STRENGTH = (EdgeKind.IDENTITY, EdgeKind.TRANSFORMATION, EdgeKind.AGGREGATION)
# What the facet knows; which rows there are is a filter in its words.
_SUBTYPES = {EdgeKind.ROWS: "FILTER"}


def job_events(plan: Plan, file: str, sql: str, at: str) -> list[dict[str, Any]]:
    """``at`` is the time of the events, ISO 8601; ``sql`` goes into them, so it must hold no secret."""
    return [_event(lineage_of(Plan((job,)), file), job.name, sql, at) for job in plan.jobs]


def _event(lineage: Lineage, job: str, sql: str, at: str) -> dict[str, Any]:
    inputs = list(dict.fromkeys(place for _, place in lineage.reads))
    outputs = list(dict.fromkeys(place for _, place in lineage.writes))
    return {
        "eventTime": at,
        "producer": PRODUCER,
        "schemaURL": f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/JobEvent",
        "job": {
            "namespace": "windrow",
            "name": job,
            "facets": {
                "jobType": _facet("2-0-3/JobTypeJobFacet", {"processingType": "STREAMING", "integration": "WINDROW", "jobType": "QUERY"}),
                "sql": _facet("1-1-0/SQLJobFacet", {"query": sql, "dialect": "windrow"}),
            },
        },
        "inputs": [{**_name(place), "facets": {"schema": _schema(lineage, place)}} for place in inputs],
        "outputs": [
            {**_name(place), "facets": {"schema": _schema(lineage, place), "columnLineage": _columns(lineage, place)}} for place in outputs
        ],
    }


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
    return _facet("1-1-1/SchemaDatasetFacet", {"fields": fields})


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
