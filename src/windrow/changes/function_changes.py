"""Functions of the user's own that are others now, or of other code: what of a job they reach.

The plan of a job says what its functions were made of; what they did is not kept, so windows that were counted by them cannot finish as
they have begun.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from windrow.changes.aggregates import emits_once
from windrow.changes.classes import Change, ChangeClass
from windrow.plan.fingerprint import called, essence

_Plan = Mapping[str, Any]
_GONE = (
    "what is open holds rows of the code as it was. No cut at a window boundary: that code is not kept. "
    "Leave the old function as it is and call the new one by a name of its own; then it is cut over"
)
_REMEMBERS = "groups that emit more than once remember what HAVING let out, by the code as it was"
_MIXED = "{} keeps what is made of its rows"
# Fields of a statement that groups: what goes into its state, when it emits, and what is made of it.
_BELOW = ("where", "keys", "aggregates", "time", "since", "starts_at", "punctuation")
_ABOVE = ("columns", "order_by", "key", "headers", "subqueries", "having")


def other_functions(saved: _Plan, job: _Plan) -> dict[str, str]:
    """The functions of both plans that are not what they were, each with what is said of it."""
    before, after = ({each["name"]: each for each in plan.get("functions", ())} for plan in (saved, job))
    found = {}
    for name, now in after.items():
        was = before.get(name)
        if was is None:
            continue
        for field in ("target", "parameters", "returns"):
            if was[field] != now[field]:
                found[name] = f"{field} is {_shown(now[field])}, and was {_shown(was[field])}"
        # What an earlier version of ours wrote says nothing of the code.
        if name not in found and was.get("code") and now.get("code") and was["code"] != now["code"]:
            found[name] = f"its code in {now['target'].partition(':')[0]} is another"
    return found


def calls(stage: object, name: str) -> bool:
    """Whether a stage, or a part of one, calls a function; a word of a text that looks like it counts as one.

    >>> calls({"where": "F(v) > 1"}, "f"), calls({"where": "if(v) > 1"}, "f")
    (True, False)
    """
    return re.search(rf"(?<!\w)`?{re.escape(name)}`?\s*\(", json.dumps(stage), re.IGNORECASE) is not None


def function_changes(saved: _Plan, job: _Plan, first_reader: Callable[[str, _Plan], str | None]) -> Iterator[Change]:
    """What the functions that are others change in each statement; ``first_reader`` tells who keeps what is made of its rows."""
    after = essence(job)
    for name, told in other_functions(saved, job).items():
        for stage in after.values():
            if stage["kind"] in ("write", "read", "load_table") or not calls(stage, name):
                continue
            yield _change(stage, f"function {name}: {told}", name, first_reader(stage["name"], after))


def _change(stage: _Plan, what: str, name: str, reader: str | None) -> Change:
    title = called(stage)
    is_below = any(calls(stage.get(field), name) for field in _BELOW)
    match stage["kind"]:
        case "aggregate" if is_below:
            return _refused(title, what, "it is called below what is kept", _GONE)
        case "aggregate" if calls(stage.get("having"), name) and not emits_once(stage):
            return _refused(title, what, "HAVING asks again with every emission", _REMEMBERS)
        case "aggregate" if not any(calls(stage.get(field), name) for field in _ABOVE):
            return Change(title, what, ChangeClass.CLOCK, "windows emit early at other times", "kept as it is")
        case "aggregate" | "filter_project" | "explode" | "union_all" | "subquery_lookup" if reader is None:
            return Change(title, what, ChangeClass.AFTER_STATE, "nothing is kept of what it gives", "kept as it is")
        case "lookup_join" if reader is None and not stage.get("retry_us"):
            return Change(title, what, ChangeClass.AFTER_STATE, "nothing is kept of what it gives", "kept as it is")
        case _ if reader is not None:
            return _refused(title, what, _MIXED.format(reader), _GONE)
        case _:
            return _refused(title, what, "rows are kept, or what was made of them", _GONE)


def _refused(title: str, what: str, reason: str, refused: str) -> Change:
    return Change(title, what, ChangeClass.INPUT, reason, "cannot be carried over", refused, of_function=True)


def _shown(value: object) -> str:
    return f"({', '.join(map(str, value))})" if isinstance(value, list) else str(value)
