"""What a changed text does to those who read its outputs. What cannot be proved to be harmless is said to break."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from windrow.errors import WindrowError
from windrow.lineage import ROWS, ColumnRef, Dataset, Lineage, lineage_of
from windrow.server.service import Service, Text

NONE, VALUES, WIDENS, BREAKS = "none", "values change", "type widens", "breaks"
_ORDER = (NONE, VALUES, WIDENS, BREAKS)
# Every value of the one is a value of the other.
_WIDER = {("INT", "BIGINT"), ("SMALLINT", "INT"), ("SMALLINT", "BIGINT"), ("TINYINT", "INT"), ("FLOAT", "DOUBLE"), ("INT", "DOUBLE")}


def impact_of(service: Service, text: Text) -> dict[str, Any]:
    """By output: each column with a verdict; by reader: the worst of the columns that it takes."""
    after = lineage_of(service.compile(text).plan, text.deployment)
    known = service.registry.deployment(text.deployment)
    before = Lineage({}, ()) if known is None else lineage_of(service.compiled(text.deployment).plan, text.deployment)
    columns = {str(place): _changes(before, after, place) for place in _written(before, after)}
    readers = [told for told in (_reader(service, one.deployment.name, columns) for one in service.jobs()) if told is not None]
    return {"outputs": columns, "readers": [one for one in readers if one["job"] != text.deployment]}


def _written(*lineages: Lineage) -> Iterable[Dataset]:
    return dict.fromkeys(outside for lineage in lineages for _, outside in lineage.writes)


def _statement(lineage: Lineage, place: Dataset) -> Dataset | None:
    return next((own for own, outside in lineage.writes if outside == place), None)


def _changes(before: Lineage, after: Lineage, place: Dataset) -> dict[str, str]:
    old, new = _columns(before, place), _columns(after, place)
    return {name: _verdict(old.get(name), new.get(name)) for name in dict.fromkeys([*old, *new])}


def _columns(lineage: Lineage, place: Dataset) -> dict[str, tuple[str, frozenset[str]]]:
    """The type of each column and what it is made of."""
    own = _statement(lineage, place)
    if own is None:
        return {}
    types = {ref.column: type_ for ref, type_ in (lineage.types or {}).items() if ref.dataset == own}
    made: dict[str, set[str]] = {name: set() for name in lineage.columns.get(own, ())}
    for edge in lineage.edges:
        if edge.output.dataset == own and edge.output.column in made:
            made[edge.output.column].add(f"{edge.kind.value} {edge.input} {edge.expr}")
    rows = frozenset(f"{edge.kind.value} {edge.input} {edge.expr}" for edge in lineage.edges if edge.output == ColumnRef(own, ROWS))
    return {name: (types.get(name, ""), frozenset(of) | rows) for name, of in made.items()}


def _verdict(old: tuple[str, frozenset[str]] | None, new: tuple[str, frozenset[str]] | None) -> str:
    if old is None:
        return NONE
    if new is None:
        return BREAKS
    if old[0] != new[0]:
        return WIDENS if (old[0], new[0]) in _WIDER else BREAKS
    return NONE if old[1] == new[1] else VALUES


def _reader(service: Service, name: str, outputs: dict[str, dict[str, str]]) -> dict[str, Any] | None:
    job = service.job(name)
    try:
        lineage = lineage_of(service.compiled(name).plan, name)
    except WindrowError:
        return None
    verdicts: dict[str, str] = {}
    for own, outside in lineage.reads:
        for column in lineage.columns.get(own, ()) if str(outside) in outputs else ():
            verdicts[column] = outputs[str(outside)].get(column, NONE)
    if not any(str(outside) in outputs for _, outside in lineage.reads):
        return None
    worst = max(verdicts.values(), key=_ORDER.index, default=NONE)
    return {"job": name, "owner": job.pipeline.owner, "team": job.pipeline.team, "verdict": worst, "columns": verdicts}
