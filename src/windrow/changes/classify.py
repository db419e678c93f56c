"""Each difference between two plans, and its class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from windrow.changes.aggregates import aggregate_changes
from windrow.changes.classes import Change, ChangeClass
from windrow.changes.function_changes import function_changes
from windrow.plan.fingerprint import called, essence, field_changes, shown
from windrow.sql.durations import show_duration

_KEEPING = frozenset({"aggregate", "over_aggregate", "interval_join", "asof_join", "window_join", "upsert_table"})
_JOINS = frozenset({"interval_join", "asof_join", "window_join"})
# Fields of a source, by the beginning of their path; what is not here makes another source of it.
_OF_SOURCE: dict[str, tuple[ChangeClass, str]] = {
    "watermark.delay_us": (ChangeClass.CLOCK, "the watermark goes on from where it stands and never back"),
    "watermark.idle_timeout_us": (ChangeClass.CLOCK, "a silent partition holds windows back for longer or shorter"),
    "watermark.late_rows": (ChangeClass.CLOCK, "rows behind the watermark are treated so from the next batch on"),
    "event_time.max_future_us": (ChangeClass.CLOCK, "rows of the future are judged so from the next batch on"),
    "event_time": (ChangeClass.SHAPE, "rows would fall into other windows than those that were counted"),
    "watermark.granularity": (ChangeClass.SHAPE, "clocks of another kind are kept"),
    "bad_rows": (ChangeClass.INPUT, "other rows would be counted in windows that are open"),
    "bad_fields": (ChangeClass.INPUT, "other rows would be counted in windows that are open"),
    "columns": (ChangeClass.INPUT, "rows would be read with other columns or types"),
}
_INPUT_REFUSED = "windows that are open hold rows of the old meaning: they would be a mix of both"
_SHAPE_REFUSED = "what is kept does not fit the new query"
_SOURCE_REFUSED = "Spark's notes of how far sources were read go by their place, and rows of another source were never counted"


def changes_between(saved: Mapping[str, Any], job: Mapping[str, Any]) -> list[Change]:
    """What counts and differs, in the order of the new plan; empty where the state of one is the state of the other."""
    before, after = essence(saved), essence(job)
    found = [*_sources(before, after), *_gone(before, after)]
    for name, stage in after.items():
        if name not in before:
            found += _new(stage, before, after)
        elif before[name] != stage:
            found += _of_stage(before[name], stage, after)
    if bool(saved.get("needs_ticks")) != bool(job.get("needs_ticks")):
        found.append(
            Change(
                "the job",
                "time has to go on without rows" if job.get("needs_ticks") else "time no longer has to go on without rows",
                ChangeClass.CLOCK,
                "ticks of the clock come beside the rows",
                "kept as it is",
            )
        )
    if not found and list(before) != list(after):
        found.append(
            Change("the file", "statements stand in another order", ChangeClass.RESHAPED, "state is found by name", "kept as it is")
        )
    return [*found, *function_changes(saved, job, _first_reader)]


def _sources(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    names = [[name for name, stage in plan.items() if stage["kind"] == "read"] for plan in (before, after)]
    if names[0] != names[1] and set(names[0]) == set(names[1]):
        reason = "Spark knows them by their place"
        yield Change("the job", "sources are read in another order", ChangeClass.RESHAPED, reason, "its notes are put in that order")


def _other_source(stage: Mapping[str, Any], plan: Mapping[str, Any], other: Mapping[str, Any], *, is_new: bool) -> Change:
    """A source more or less. ``plan`` is the text that has it. What keeps rows or groups in both texts must not be fed by it."""
    title, what = called(stage), "is new" if is_new else "is gone"
    reason = "a source more" if is_new else "a source less"
    readers = [name for name in _behind(stage["name"], plan) if name in other]
    keeping = next((plan[name] for name in readers if plan[name]["kind"] in _KEEPING or plan[name].get("retry_us")), None)
    if keeping is not None:
        refused = f"{called(keeping)} has its windows and its watermark from other sources than it would have: make it a new statement"
        return Change(title, what, ChangeClass.SHAPE, reason, "cannot be carried over", refused)
    state = "read from where its options begin; the others go on where they are" if is_new else "what it has brought stays counted"
    return Change(title, what, ChangeClass.RESHAPED, reason, state)


def _behind(name: str, plan: Mapping[str, Any]) -> list[str]:
    """Every stage that reads a stage, directly or not; in the order of the plan."""
    found = {name}
    for each, stage in plan.items():
        if found & set(stage.get("inputs", ())):
            found.add(each)
    return [each for each in plan if each in found and each != name]


def _gone(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    for name, stage in before.items():
        if name in after or _is_inner(name, before):
            continue
        title = called(stage)
        if stage["kind"] == "read":
            yield _other_source(stage, before, after, is_new=False)
        elif stage["kind"] == "write":
            yield Change(title, "is gone", ChangeClass.AFTER_STATE, "what was written stays", "not touched")
        elif stage["kind"] == "load_table":
            yield Change(title, "is gone", ChangeClass.RESHAPED, "tables are loaded, not kept", "not touched")
        else:
            keeps = any(each["kind"] in _KEEPING for each in _parts(name, before))
            state = "what it keeps is let go, open windows with it" if keeps else "it kept nothing"
            yield Change(title, "is gone", ChangeClass.RESHAPED, "nobody asks for it any more", state)


def _new(stage: Mapping[str, Any], before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    name, title = stage["name"], called(stage)
    if _is_inner(name, after) and name.partition("/")[0] not in before:
        return
    match stage["kind"]:
        case "read":
            yield _other_source(stage, after, before, is_new=True)
        case "load_table":
            yield Change(
                title, "is new", ChangeClass.INPUT, "a table that was never loaded", "not touched", "a job loads its tables when it begins"
            )
        case "write":
            yield Change(title, "is new", ChangeClass.AFTER_STATE, "it gets the rows from the switch on", "not touched")
        case kind if "/" in name:
            keeps = kind in _KEEPING or _feeds_state(name, after)
            refused = _INPUT_REFUSED if keeps else ""
            klass = ChangeClass.INPUT if keeps else ChangeClass.AFTER_STATE
            yield Change(
                title, "is new", klass, "a part of the statement more", "cannot be carried over" if keeps else "not touched", refused
            )
        case _:
            keeps = any(each["kind"] in _KEEPING for each in _parts(name, after))
            state = "starts empty: its first windows hold only rows from the switch on" if keeps else "it keeps nothing"
            yield Change(title, "is new", ChangeClass.RESHAPED, "it starts now", state)


def _is_inner(name: str, plan: Mapping[str, Any]) -> bool:
    """Whether a stage is a part of a statement, which speaks for it."""
    return "/" in name and name.partition("/")[0] in plan


def _parts(name: str, plan: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [stage for each, stage in plan.items() if each == name or each.startswith(f"{name}/")]


def _of_stage(before: Mapping[str, Any], after: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterator[Change]:
    title, kind = called(after), after["kind"]
    if before["kind"] != kind:
        yield Change(
            title,
            f"is a {_word(kind)}, and was a {_word(before['kind'])}",
            ChangeClass.SHAPE,
            "another kind of statement",
            "cannot be carried over",
            _SHAPE_REFUSED,
        )
        return
    match kind:
        case "read":
            yield from _of_source(title, before, after, plan)
        case "write":
            yield from _after_state(title, before, after)
        case "aggregate":
            yield from aggregate_changes(title, before, after, reader=_first_reader(after["name"], plan))
        case "load_table":
            yield from _refused(title, before, after, ChangeClass.INPUT, "rows were completed from another table", _INPUT_REFUSED)
        case "over_aggregate":
            yield from _over(title, before, after, plan)
        case "upsert_table":
            yield from _upsert(title, before, after)
        case "lookup_join" if after.get("retry_us") or before.get("retry_us"):
            yield from _refused(title, before, after, ChangeClass.SHAPE, "rows that wait for a table are kept", _SHAPE_REFUSED)
        case _ if kind in _JOINS:
            yield from _refused(title, before, after, ChangeClass.SHAPE, "rows that wait for a partner are kept", _SHAPE_REFUSED)
        case _ if (reader := _first_reader(after["name"], plan)) is not None and not _only_adds_columns(before, after, plan):
            reason = f"{reader} keeps what is made of its rows"
            yield from _refused(title, before, after, ChangeClass.INPUT, reason, _INPUT_REFUSED)
        case _:
            yield from _after_state(title, before, after)


def _word(kind: str) -> str:
    return kind.replace("_", " ")


def _of_source(title: str, before: Mapping[str, Any], after: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterator[Change]:
    for path, old, new in field_changes(before, after):
        known = next(((klass, reason) for start, (klass, reason) in _OF_SOURCE.items() if path.startswith(start)), None)
        what = _told(path, old, new)
        if path == "columns" and _is_more(old, new) and _only_groups(after["name"], plan):
            yield Change(
                title,
                f"has more columns: {_more(old, new)}",
                ChangeClass.AFTER_STATE,
                "what is kept is made of the others",
                "kept as it is",
            )
        elif known is None:
            reason = "it reads something else"
            yield Change(title, what, ChangeClass.SHAPE, reason, "cannot be carried over", _SOURCE_REFUSED, reads_elsewhere=True)
        elif known[0].is_safe:
            yield Change(title, what, known[0], known[1], "kept as it is", path=path, before=old, after=new)
        elif known[0] is ChangeClass.INPUT and not _feeds_state(after["name"], plan):
            yield Change(title, what, ChangeClass.AFTER_STATE, "nothing is kept of its rows", "there is none")
        else:
            yield Change(title, what, known[0], known[1], "cannot be carried over", _INPUT_REFUSED)


def _over(title: str, before: Mapping[str, Any], after: Mapping[str, Any], plan: Mapping[str, Any]) -> Iterator[Change]:
    reader = _first_reader(after["name"], plan)
    for path, old, new in field_changes(before, after):
        what = _told(path, old, new)
        if path.startswith(("over", "inputs")):
            yield Change(title, what, ChangeClass.SHAPE, "other rows are looked back at", "cannot be carried over", _SHAPE_REFUSED)
        elif path == "where":
            yield Change(title, what, ChangeClass.INPUT, "other rows are looked back at", "cannot be carried over", _INPUT_REFUSED)
        elif reader is not None:
            yield Change(
                title, what, ChangeClass.INPUT, f"{reader} keeps what is made of its rows", "cannot be carried over", _INPUT_REFUSED
            )
        else:
            yield Change(title, what, ChangeClass.AFTER_STATE, "the rows that are looked back at stay the same", "kept as it is")


def _upsert(title: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    for path, old, new in field_changes(before, after):
        what = _told(path, old, new)
        if path == "state_ttl_us":
            yield Change(title, what, ChangeClass.CLOCK, "rows are let go sooner or later from now on", "kept as it is")
        else:
            yield Change(
                title, what, ChangeClass.SHAPE, "the rows that are kept have other columns", "cannot be carried over", _SHAPE_REFUSED
            )


def _after_state(title: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    """Of statements of which nothing is kept: rows from the switch on are as the new text says."""
    for path, old, new in field_changes(before, after):
        yield Change(title, _told(path, old, new), ChangeClass.AFTER_STATE, "nothing is kept of its rows", "there is none")


def _refused(
    title: str, before: Mapping[str, Any], after: Mapping[str, Any], klass: ChangeClass, reason: str, refused: str
) -> Iterator[Change]:
    for path, old, new in field_changes(before, after):
        yield Change(title, _told(path, old, new), klass, reason, "cannot be carried over", refused)


def _told(path: str, old: object, new: object) -> str:
    if path.endswith("_us"):
        old, new = (show_duration(value) if isinstance(value, int) else "not set" for value in (old, new))
    name = path.removesuffix("_us").removeprefix("options.").replace("_", " ") if "." in path or "_" in path else path
    return f"{name} is {shown(new)}, and was {shown(old)}"


def _first_reader(name: str, plan: Mapping[str, Any]) -> str | None:
    """The nearest statement that keeps something of a stage's rows."""
    open_names, seen = [name], {name}
    while open_names:
        current = open_names.pop(0)
        for stage in plan.values():
            if current not in stage.get("inputs", ()) or stage["kind"] == "write" or stage["name"] in seen:
                continue
            if stage["kind"] in _KEEPING or stage.get("retry_us"):
                return called(stage)
            seen.add(stage["name"])
            open_names.append(stage["name"])
    return None


def _feeds_state(name: str, plan: Mapping[str, Any]) -> bool:
    return _first_reader(name, plan) is not None


def _only_groups(name: str, plan: Mapping[str, Any]) -> bool:
    """Whether all that reads a stage, directly or not, makes partials of its rows and keeps none of them whole."""
    open_names, seen = [name], {name}
    while open_names:
        current = open_names.pop()
        for stage in plan.values():
            if current not in stage.get("inputs", ()) or stage["name"] in seen:
                continue
            if stage["kind"] not in ("aggregate", "filter_project", "write", "late_rows", "subquery_lookup"):
                return False
            if stage["kind"] == "aggregate" and any("of the window" in each["call"] for each in stage.get("aggregates", ())):
                return False
            seen.add(stage["name"])
            open_names.append(stage["name"])
    return True


def _only_adds_columns(before: Mapping[str, Any], after: Mapping[str, Any], plan: Mapping[str, Any]) -> bool:
    differing = [path for path, _, _ in field_changes(before, after)]
    return differing == ["columns"] and _is_more(before["columns"], after["columns"]) and _only_groups(after["name"], plan)


def _is_more(old: object, new: object) -> bool:
    return isinstance(old, list) and isinstance(new, list) and len(new) > len(old) and all(each in new for each in old)


def _more(old: object, new: object) -> str:
    assert isinstance(old, list)
    assert isinstance(new, list)
    return ", ".join(str(each["name"]) for each in new if each not in old)
