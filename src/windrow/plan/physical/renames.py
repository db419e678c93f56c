"""Output rows that need no expression: their columns are only renamed, in the driver, without a Spark job."""

from __future__ import annotations

from windrow.aggregates import Aggregate as AggregateForm
from windrow.aggregates import find_aggregate
from windrow.model.expr import Column, Slot
from windrow.model.row_protocol import OWN_WATERMARK, SEQ, SOURCE_WATERMARK
from windrow.model.system import SYSTEM_COLUMNS, Origin, system_column
from windrow.plan.stages import (
    Aggregate,
    AggregateItem,
    Expect,
    FilterProject,
    IntervalJoin,
    Job,
    LateRows,
    OverAggregate,
    Read,
    Stage,
    UpsertTable,
    WindowRows,
)
from windrow.plan.stream_joins import AsofJoin, WindowJoin

# System columns that every emission has.
EMISSION_COLUMNS = tuple(column.name for column in SYSTEM_COLUMNS if column.origin is not Origin.ROW)
# What every row in the driver has beside its columns.
_ALWAYS = ("_key", "_event_time", "_timestamp")
_RESERVED = {*(column.name for column in SYSTEM_COLUMNS), SEQ, OWN_WATERMARK, SOURCE_WATERMARK}


def part_names(item: AggregateItem) -> dict[str, str]:
    """The columns of an aggregate's parts, by the names of the parts."""
    return {part.name: f"{item.slot}_{part.name}" for part in form_of(item).parts}


def form_of(item: AggregateItem) -> AggregateForm:
    form = find_aggregate(item.call)
    assert form is not None, f"no aggregate {item.call.name}"
    return form


def emission_renames(stage: Aggregate) -> list[tuple[str, str]] | None:
    """(output name, column of the step) for every item, or None where any item is more than that."""
    is_plain = stage.having is None and not stage.output.order_by and stage.output.key is None and len(stage.keys) <= 1
    if not is_plain or stage.starts_at is not None or stage.output.headers or stage.keeps_headers or stage.keeps_time:
        return None
    bare = {item.slot: part_names(item) for item in stage.aggregates if form_of(item).finish in ("{n}", "{s}", "{m}", "{b}", "{v}", "{l}")}
    plain: dict[str, str] = {slot: next(iter(names.values())) for slot, names in bare.items()}
    plain.update({name: name for name, _ in stage.keys})
    renames = []
    for item in stage.output.items:
        match item.expr:
            case Slot(name=name) if name in plain:
                renames.append((item.name, plain[name]))
            case Column(name=name) if (known := system_column(name)) is not None and known.name in EMISSION_COLUMNS:
                renames.append((item.name, known.name))
            case _:
                return None
    names = [name.lower() for name, _ in renames]
    return renames if not set(names) & {*_ALWAYS, SEQ} and len(set(names)) == len(names) else None


def is_only_renamed(stage: FilterProject, job: Job) -> bool:
    """Whether a statement takes rows that are in the driver, and gives their columns other names."""
    if stage.where is not None or stage.output.order_by or stage.output.key is not None or stage.output.headers:
        return False
    columns = driver_columns(job.stage(stage.input), job)
    if columns is None:
        return False
    return all(
        item.expr is None
        or (
            isinstance(item.expr, Column)
            and item.expr.qualifier is None
            and item.expr.name in columns
            and item.name.lower() not in _RESERVED
        )
        for item in stage.output.items
    )


def driver_columns(stage: Stage, job: Job) -> set[str] | None:
    """The columns of a stage's rows, as far as they are known, if these rows are in the driver; None where they are on the executors."""
    match stage:
        case Aggregate(output=output):
            return {*(item.name for item in output.items), *EMISSION_COLUMNS, *_ALWAYS}
        case OverAggregate(output=output):
            return {*(item.name for item in output.items if item.expr is not None), *_ALWAYS}
        case IntervalJoin(left=left, right=right) | AsofJoin(left=left, right=right) | WindowJoin(left=left, right=right):
            named = (f"{s.prefix}.{c.name}".lower() if s.prefix is not None else c.name for s in (left, right) for c in s.columns)
            return {*named, *_ALWAYS}
        case UpsertTable(columns=columns):
            return {*(column.name for column in columns), *_ALWAYS}
        case LateRows(of=of):
            source = job.stage(job.stage(of).inputs[0])
            return {*(column.name for column in source.columns), *_ALWAYS} if isinstance(source, Read) else set(_ALWAYS)
        case WindowRows():
            return set(_ALWAYS)
        case Expect(input=input_name):
            return driver_columns(job.stage(input_name), job)
        case FilterProject(output=output) if output.limit is not None or is_only_renamed(stage, job):
            return {*(item.name for item in output.items if item.expr is not None), *_ALWAYS}
        case _:
            return None
