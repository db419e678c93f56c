"""What may change in a statement that groups, while its groups are kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from windrow.changes.classes import Change, ChangeClass
from windrow.plan.fingerprint import field_changes, shown
from windrow.sql.durations import show_duration

_NEVER = "cannot be carried over"
# By the beginning of a path: the class, the reason, and why it is refused, if it is.
_RULES: tuple[tuple[str, ChangeClass, str, str], ...] = (
    (
        "where",
        ChangeClass.INPUT,
        "other rows are counted",
        "windows that are open hold rows of the old filter: they would be a mix of both",
    ),
    ("keys", ChangeClass.SHAPE, "other groups", "groups of the old keys are none of the new ones"),
    ("window", ChangeClass.SHAPE, "other windows", "what is kept is cut by the old windows"),
    ("watermark_delay_us", ChangeClass.SHAPE, "a watermark that the window states", "windows have been closed by the old one"),
    ("time", ChangeClass.SHAPE, "rows fall into other windows", "what is kept is cut by the old times"),
    ("since", ChangeClass.SHAPE, "rows fall into other windows", "what is kept is cut by the old times"),
    ("starts_at", ChangeClass.SHAPE, "rows fall into other windows", "what is kept is cut by the old times"),
    ("on_arrival", ChangeClass.SHAPE, "windows of another clock", "what is kept is cut by the old times"),
    ("punctuation", ChangeClass.SHAPE, "a clock of its own", "other rows have moved it"),
    ("granularity", ChangeClass.SHAPE, "rows are judged one by one, or by their batch", "what is kept has another form"),
    ("keeps_headers", ChangeClass.SHAPE, "headers are kept, or no longer", "what is kept has other columns"),
    ("keeps_time", ChangeClass.SHAPE, "times are kept, or no longer", "what is kept has other columns"),
    ("inputs", ChangeClass.INPUT, "other rows are counted", "windows that are open hold rows of another stream"),
    ("partials", ChangeClass.SHAPE, "windows that emit once are kept in slices, others whole", "what is kept has another form"),
    ("emits.on_close", ChangeClass.SHAPE, "windows emit at other times", "what is kept does not tell what was emitted"),
    ("emits.every_row", ChangeClass.SHAPE, "windows emit at other times", "what is kept has another form"),
    ("emits.per_batch", ChangeClass.SHAPE, "windows emit at other times", "what is kept has another form"),
    ("emits.once", ChangeClass.SHAPE, "windows emit at other times", "what is kept has another form"),
    ("emits", ChangeClass.CLOCK, "windows emit early at other times", ""),
    ("allowed_lateness_us", ChangeClass.CLOCK, "windows are kept for late rows longer or shorter; what was let go stays so", ""),
    ("late_rows", ChangeClass.CLOCK, "rows that are too late are treated so from the next batch on", ""),
    ("state_ttl_us", ChangeClass.CLOCK, "groups are let go sooner or later from now on", ""),
    ("wait_us", ChangeClass.AFTER_STATE, "how long tables are waited for", ""),
    ("is_strict", ChangeClass.CLOCK, "errors of expressions are treated so from the next batch on", ""),
)
_AFTER = ("columns", "order_by", "limit", "key", "headers", "subqueries")


def aggregate_changes(title: str, before: Mapping[str, Any], after: Mapping[str, Any], reader: str | None) -> Iterator[Change]:
    """``reader`` is the statement that keeps what is made of its emissions, if there is one."""
    yield from _calls(title, before, after)
    unseen = _new_calls(before, after)
    done: set[str] = set()
    for path, old, new in field_changes(before, after):
        field = path.partition(".")[0].partition("[")[0]
        if field == "aggregates":
            continue
        if field == "having":
            yield from _having(title, before, after, reader, unseen)
        elif field in _AFTER:
            if field not in done:
                yield from _output(title, field, before, after, reader, unseen)
            done.add(field)
        else:
            yield _by_rule(title, path, old, new)


def _calls(title: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    """Aggregates are known by their call: its place in the list means nothing."""
    old, new = ([each["call"] for each in stage.get("aggregates", ())] for stage in (before, after))
    for call in (call for call in old if call not in new):
        yield Change(title, f"{call} is gone", ChangeClass.RESHAPED, "aggregates are found by their call", "its column is let go")
    for call in (call for call in new if call not in old):
        if after.get("window") is None:
            refused = "groups without a window have no end: the value would leave out every row before the switch, and not say so"
            yield Change(title, f"{call} is new", ChangeClass.RESHAPED, "it has seen no row yet", _NEVER, refused)
        elif "count" in after["window"] and "size_us" not in after["window"]:
            refused = "windows of a number of rows have no time by which old and new could be told apart"
            yield Change(title, f"{call} is new", ChangeClass.RESHAPED, "it has seen no row yet", _NEVER, refused)
        else:
            state = "the others are kept; it is NULL for windows that are open now, and whole from the next window on"
            yield Change(title, f"{call} is new", ChangeClass.RESHAPED, "it has seen no row yet", state, added_call=call)


def _having(title: str, before: Mapping[str, Any], after: Mapping[str, Any], reader: str | None, unseen: Sequence[str]) -> Iterator[Change]:
    old, new = before.get("having"), after.get("having")
    what = f"HAVING is {shown(new)}, and was {shown(old)}"
    if reader is not None:
        yield Change(
            title, what, ChangeClass.INPUT, f"{reader} keeps what is made of its rows", _NEVER, "its groups would be a mix of both"
        )
    elif not emits_once(after) or not emits_once(before):
        refused = "groups that emit more than once remember what HAVING let out, by the old condition"
        yield Change(title, what, ChangeClass.INPUT, "it is asked again with every emission", _NEVER, refused)
    elif _asks_for(new, unseen):
        refused = "windows that are open now have no value of the new aggregate, and HAVING would hold them all back"
        yield Change(title, what, ChangeClass.INPUT, "it asks for an aggregate that is new", _NEVER, refused)
    else:
        yield Change(title, what, ChangeClass.AFTER_STATE, "a window is asked once, when it closes", "kept as it is")


def _new_calls(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    old = {each["call"] for each in before.get("aggregates", ())}
    return [each["call"] for each in after.get("aggregates", ()) if each["call"] not in old]


def emits_once(stage: Mapping[str, Any]) -> bool:
    """Whether a window gives one emission and no other: essence leaves out what is false."""
    return stage.get("emits", {}) == {"on_close": True} and not stage.get("allowed_lateness_us")


def _asks_for(value: object, calls: Sequence[str]) -> bool:
    return any(call in str(value) for call in calls)


def _output(
    title: str, field: str, before: Mapping[str, Any], after: Mapping[str, Any], reader: str | None, unseen: Sequence[str]
) -> Iterator[Change]:
    old, new = before.get(field), after.get(field)
    if field != "columns":
        what = f"{field.replace('_', ' ')} is {shown(new)}, and was {shown(old)}"
        if _asks_for(new, unseen):
            yield _unseen_value(title, what, field.replace("_", " "))
        else:
            yield _made_of_state(title, what, reader)
        return
    had = {each["name"]: each["expr"] for each in old or ()}
    other = [each for each in new or () if had.get(each["name"], each["expr"]) != each["expr"] and _asks_for(each["expr"], unseen)]
    if other:
        names = {each["name"] for each in other}
        yield _unseen_value(title, _columns_told([each for each in old or () if each["name"] in names], other), " and ".join(sorted(names)))
    # The rest, with these columns as they were.
    rest = [{"name": each["name"], "expr": had[each["name"]]} if each in other else each for each in new or ()]
    if rest != (old or []):
        is_more = all(each in rest for each in old or ())
        yield _made_of_state(title, _columns_told(old or [], rest), None if is_more else reader)


def _unseen_value(title: str, what: str, of: str) -> Change:
    """A value that windows have had until now, and would be without until they close."""
    refused = f"windows that are open have not counted what {of} is made of now: it would be NULL in them, where it has a value"
    reason = "it is another aggregate under the same name"
    return Change(title, what, ChangeClass.INPUT, reason, _NEVER, refused, if_mixed="NULL in windows and groups that are open now")


def _made_of_state(title: str, what: str, reader: str | None) -> Change:
    if reader is None:
        return Change(title, what, ChangeClass.AFTER_STATE, "made of the aggregates when a window emits", "kept as it is")
    return Change(title, what, ChangeClass.INPUT, f"{reader} keeps what is made of its rows", _NEVER, "its groups would be a mix of both")


def _columns_told(old: list[Mapping[str, Any]], new: list[Mapping[str, Any]]) -> str:
    """
    >>> _columns_told([{"name": "a", "expr": "x"}], [{"name": "a", "expr": "y"}, {"name": "b", "expr": "z"}])
    'column a is y, and was x; column b is new: z'
    """
    before, after = ({each["name"]: each["expr"] for each in columns} for columns in (old, new))
    told = [f"column {name} is gone" for name in before if name not in after]
    told += [f"column {name} is {expr}, and was {before[name]}" for name, expr in after.items() if before.get(name, expr) != expr]
    told += [f"column {name} is new" + ("" if name == expr else f": {expr}") for name, expr in after.items() if name not in before]
    return "; ".join(told) or "columns stand in another order"


def _by_rule(title: str, path: str, old: object, new: object) -> Change:
    if path == "allowed_lateness_us" and _micros(new) > _micros(old):
        what = f"allowed lateness is {_value(path, _micros(new))}, and was {_value(path, _micros(old))}"
        refused = "windows that it would keep for longer have been let go, and a late row would be all that they hold"
        return Change(title, what, ChangeClass.CLOCK, "windows are kept longer for late rows", _NEVER, refused)
    for start, klass, reason, refused in _RULES:
        if path.startswith(start):
            state = _NEVER if refused else "kept as it is"
            return Change(
                title, f"{_named(path)} is {_value(path, new)}, and was {_value(path, old)}", klass, reason, state, refused, path, old, new
            )
    what = f"{path} is {shown(new)}, and was {shown(old)}"
    return Change(title, what, ChangeClass.SHAPE, "nothing is known of this change", _NEVER, "it cannot be proved that the state fits")


def _micros(value: object) -> int:
    return value if isinstance(value, int) else 0


def _named(path: str) -> str:
    return path.removesuffix("_us").replace("_", " ").replace(".", " ")


def _value(path: str, value: object) -> str:
    return show_duration(value) if path.endswith("_us") and isinstance(value, int) else shown(value)
