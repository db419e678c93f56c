"""What differs between two versions of a file, for those who read it: column by column, with a verdict and a reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from windrow.connectors.registry import CONNECTORS
from windrow.groups.member import Access, Member, is_statement
from windrow.groups.verdicts import Verdict, type_change
from windrow.lineage import ROWS, ColumnRef, Dataset
from windrow.model.types import UNKNOWN
from windrow.plan.explain_json import job_to_json
from windrow.plan.fingerprint import essence, field_changes, shown
from windrow.plan.stages import LoadTable, Read
from windrow.sql.durations import show_duration

Stages = Mapping[str, Mapping[str, Any]]
# How a stage is run, and what follows from other statements: no reader can tell.
_UNSEEN = frozenset({"name", "partials", "keeps_headers", "keeps_time", "wait_us"})
# What a source is read with that has a meaning of its own; of anything else it cannot be proved what it does.
_OF_SOURCE = ("event_time", "watermark", "bad_rows", "bad_fields", "time_zone", "constraints", "refresh_us")


@dataclass(frozen=True)
class Difference:
    """``column`` is that of a statement, stream or output; ROWS stands for which rows there are, and so for every column of them.

    ``within`` is what it means for statements of the same file: their own types are compared, so a type or a column that is gone changes
    no more than values there.
    """

    column: ColumnRef
    verdict: Verdict
    text: str
    within: Verdict = Verdict.VALUES


def differences(old: Member, new: Member) -> list[Difference]:
    """Both are versions of one file, so both have its name."""
    before, after = _stages(old), _stages(new)
    found: list[Difference] = []
    names = [*_named(old), *(name for name in _named(new) if name not in _named(old))]
    for name in names:
        found += _of_dataset(name, old, new, before, after)
    found += _functions(old, new, after)
    found += _outputs(old, new, before, after)
    return list(dict.fromkeys(found))


def _stages(member: Member) -> dict[str, dict[str, Any]]:
    """With what is expected of rows, which a state does not depend on."""
    found: dict[str, dict[str, Any]] = {}
    for job in member.plan.jobs:
        told = job_to_json(job)
        whole = {stage["name"]: stage for stage in told["stages"]}
        for name, stage in essence(told).items():
            constraints = whole[name].get("constraints") or None
            found[name] = {key: _without_carried(value) if key != "columns" else value for key, value in stage.items()}
            found[name] |= {} if constraints is None else {"constraints": constraints}
    return found


def _without_carried(value: Any) -> Any:
    """Sides of joins without the columns that they carry: these follow from what is asked of them elsewhere."""
    match value:
        case Mapping():
            return {key: _without_carried(below) for key, below in value.items() if key not in ("columns", "asked")}
        case list():
            return [_without_carried(below) for below in value]
        case _:
            return value


def _named(member: Member) -> list[str]:
    """Sources, tables and statements, which have columns."""
    stages = (stage for job in member.plan.jobs for stage in job.stages)
    return list(dict.fromkeys(stage.name for stage in stages if is_statement(stage) or isinstance(stage, Read | LoadTable)))


def _of_dataset(name: str, old: Member, new: Member, before: Stages, after: Stages) -> Iterator[Difference]:
    dataset = Dataset(new.file, name)
    rows = ColumnRef(dataset, ROWS)
    if name not in after:
        yield Difference(rows, Verdict.BREAKS, "is gone")
        return
    if name not in before:
        return
    yield from _columns(dataset, old, new, before, after)
    was, now = _nullable(before[name]), _nullable(after[name])
    for column in (each for each in was if each in now and was[each] != now[each]):
        yield Difference(rows, Verdict.VALUES, f"{column} {'may be NULL now' if now[column] else 'must not be NULL now'}")
    parts = [each for each in (*before, *after) if each == name or each.startswith(f"{name}/")]
    for part in dict.fromkeys(parts):
        one, other = before.get(part), after.get(part)
        if one is None or other is None:
            yield Difference(rows, Verdict.VALUES, f"{part} is {'new' if one is None else 'gone'}")
            continue
        for path, was, now in field_changes(one, other):
            yield from _of_field(rows, other["kind"], path, was, now)


def _of_field(rows: ColumnRef, kind: str, path: str, was: object, now: object) -> Iterator[Difference]:
    field = path.partition(".")[0].partition("[")[0]
    if field in _UNSEEN or field == "columns":
        return
    text = f"{path.removesuffix('_us').removeprefix('options.').replace('_', ' ')} is {_said(path, now)}, and was {_said(path, was)}"
    if kind in ("read", "load_table"):
        is_known = field in _OF_SOURCE or path in ("options.topic", "options.path", "options.table", "options.topic.pattern")
        verdict = Verdict.VALUES if is_known else Verdict.BREAKS
        yield Difference(rows, verdict, text if is_known else f"{text}: what that does to its rows cannot be proved", verdict)
    elif field == "aggregates":
        # Its calls are in the columns, in HAVING and in ORDER BY, each with what it means there.
        return
    elif field == "key":
        yield Difference(rows, Verdict.BREAKS, f"{text}: readers that go by the key find other rows")
    else:
        yield Difference(rows, Verdict.VALUES, text)


def _said(path: str, value: object) -> str:
    is_length = path.endswith("_us")
    return show_duration(value) if is_length and isinstance(value, int) and not isinstance(value, bool) else shown(value)


def _columns(dataset: Dataset, old: Member, new: Member, before: Stages, after: Stages) -> Iterator[Difference]:
    was, now = (dict.fromkeys(member.lineage.columns.get(dataset, ())) for member in (old, new))
    texts = [_texts(stages[dataset.name]) for stages in (before, after)]
    known = {name.lower(): name for name in now}
    for name in was:
        column = ColumnRef(dataset, known.get(name.lower(), name))
        if name.lower() not in known:
            yield Difference(ColumnRef(dataset, name), Verdict.BREAKS, "is gone")
            continue
        if known[name.lower()] != name:
            yield Difference(ColumnRef(dataset, name), Verdict.BREAKS, f"is called {known[name.lower()]}: names in data tell letters apart")
        first, second = (text.get(name.lower(), "another expression") for text in texts)
        has_changed = first != second
        if has_changed:
            yield Difference(column, Verdict.VALUES, f"is {second}, and was {first}")
        yield from _type(column, ColumnRef(dataset, name), old, new, has_changed=has_changed)


def _type(column: ColumnRef, was: ColumnRef, old: Member, new: Member, *, has_changed: bool) -> Iterator[Difference]:
    one, other = old.types.get(was, UNKNOWN), new.types.get(column, UNKNOWN)
    if UNKNOWN in (one, other) and (one != other or has_changed):
        yield Difference(column, Verdict.BREAKS, "has a type that is not known before it runs: that it is the same cannot be proved")
        return
    verdict = type_change(one, other)
    if verdict is not Verdict.NONE:
        yield Difference(column, verdict, f"is {other}, and was {one}")


def _texts(stage: Mapping[str, Any]) -> dict[str, str]:
    """The expressions of a statement's columns, by name."""
    columns = stage.get("columns") or []
    return {str(each["name"]).lower(): str(each["expr"]) for each in columns if isinstance(each, Mapping) and "expr" in each}


def _nullable(stage: Mapping[str, Any]) -> dict[str, bool]:
    """Which columns of a source may be NULL: one that must not be sets rows aside."""
    return {str(each["name"]).lower(): bool(each.get("nullable")) for each in stage.get("columns") or [] if "type" in each}


def _functions(old: Member, new: Member, after: Stages) -> Iterator[Difference]:
    """A function that is another one, or of other code, changes what calls it."""
    was, now = ({each.name.lower(): each for job in member.plan.jobs for each in job.functions} for member in (old, new))
    for name, function in now.items():
        if name not in was or (was[name].target, was[name].returns, was[name].code) == (function.target, function.returns, function.code):
            continue
        told = (
            f"is {function.target}, and was {was[name].target}" if function.target != was[name].target else "has other code or another type"
        )
        for stage_name, stage in after.items():
            if f"{name}(" in str(stage).lower():
                rows = ColumnRef(Dataset(new.file, stage_name.partition("/")[0]), ROWS)
                yield Difference(rows, Verdict.VALUES, f"function {function.name} {told}")


def _outputs(old: Member, new: Member, before: Stages, after: Stages) -> Iterator[Difference]:
    kept = {access.place for access in new.writes}
    for access in old.writes:
        rows = ColumnRef(access.place, ROWS)
        name = f"{access.statement} -> {access.connector}"
        if access.place not in kept:
            yield Difference(rows, Verdict.BREAKS, f"is no longer written by {access.statement}")
        elif name in before and name in after:
            for path, was, now in field_changes(before[name], after[name]):
                if path.startswith("options."):
                    text = f"{path.removeprefix('options.')} is {shown(now)}, and was {shown(was)}"
                    yield Difference(rows, Verdict.BREAKS, f"{text}: that readers still understand it cannot be proved")
            yield from _layout(access, old, new)
        else:
            yield Difference(rows, Verdict.BREAKS, f"is written by another statement than {access.statement}")


def _layout(access: Access, old: Member, new: Member) -> Iterator[Difference]:
    """Where it matters for an output itself which columns there are."""
    statement = Dataset(new.file, access.statement)
    was, now = (list(member.lineage.columns.get(statement, ())) for member in (old, new))
    if access.options.get("format") == "csv" and was != now:
        text = f"has the columns {', '.join(now)}, and had {', '.join(was)}: CSV tells them by their place"
        yield Difference(ColumnRef(access.place, ROWS), Verdict.BREAKS, text)
    if CONNECTORS[access.connector].has_target_columns:
        for name in (name for name in now if name not in was):
            yield Difference(ColumnRef(access.place, name), Verdict.BREAKS, "is new: that the table has it cannot be proved")
