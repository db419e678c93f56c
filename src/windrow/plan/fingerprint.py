"""What a job's state depends on, told from the job's plan as JSON: whether a saved plan is that of a job, and where the two differ.

State outlives the version that wrote it, so neither names of classes nor texts of reasons count, and what is empty is as good as
missing: a field or an option that a later version adds, with a default that changes nothing, leaves every plan what it was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import OptionSpec

# Of a stage of any kind: words for a reader. Of some kinds: what follows from the rest of the file, or may change at any time.
_NEVER_COUNTS = {"reason", "rewrites"}
_DOES_NOT_COUNT = {
    "read": {"projected_columns", "constraints"},
    "load_table": {"projected_columns", "refresh_us", "constraints"},
    "expect": {"columns", "constraints"},
    "write": {"columns", "key", "outage"},
}


def fingerprint(job: Mapping[str, Any]) -> str:
    """A name for what counts in a job (as ``job_to_json`` gives it)."""
    return hashlib.sha256(json.dumps(list(essence(job).values()), sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def differences(saved: Mapping[str, Any], job: Mapping[str, Any]) -> list[str]:
    """What counts and is not the same in two jobs, a sentence each; empty where the state of one is the state of the other."""
    before, after = essence(saved), essence(job)
    found = [f"{called(stage)} is gone" for name, stage in before.items() if name not in after]
    found += [f"{called(stage)} is new" for name, stage in after.items() if name not in before]
    for name, stage in after.items():
        if name in before:
            found += (f"{called(stage)}: {each}" for each in _changes("", before[name], stage))
    if not found and list(before) != list(after):
        found.append("the statements stand in another order")
    return found


def essence(job: Mapping[str, Any]) -> dict[str, Any]:
    """Stages by name, in order, each with nothing but what its state depends on."""
    return {stage["name"]: _stage_essence(stage) for stage in job["stages"]}


def _stage_essence(stage: Mapping[str, Any]) -> dict[str, Any]:
    left_out = _NEVER_COUNTS | _DOES_NOT_COUNT.get(stage["kind"], set())
    kept = {key: value for key, value in stage.items() if key not in left_out}
    if "connector" in kept:
        kept["options"] = _lasting_options(kept["connector"], kept.get("options", {}), is_sink=stage["kind"] == "write")
    whole = _without_empty(kept)
    assert isinstance(whole, dict)
    return whole


def _lasting_options(connector: str, options: Mapping[str, str], *, is_sink: bool) -> dict[str, str]:
    """Without those that may change from one run to the next (where a server is, who asks it, how long it is waited for), and without
    defaults.
    """
    spec = CONNECTORS.get(connector)
    specs: tuple[OptionSpec, ...] = () if spec is None else (spec.sink if is_sink else spec.source) or ()
    free = {each.key.lower() for each in specs if each.may_change or each.is_secret}
    prefixes = tuple(key.removesuffix("*") for key in free if key.endswith(".*"))
    defaults = {each.key.lower(): each.default for each in specs}
    return {
        key.lower(): value
        for key, value in options.items()
        if key.lower() not in free and not key.lower().startswith(prefixes) and value != defaults.get(key.lower())
    }


def _without_empty(value: Any) -> Any:
    """The same without what is None, false or holds nothing."""
    if isinstance(value, Mapping):
        kept = ((key, _without_empty(below)) for key, below in value.items())
        return {key: below for key, below in kept if below not in (None, {}, []) and below is not False}
    return [_without_empty(below) for below in value] if isinstance(value, list) else value


def called(stage: Mapping[str, Any]) -> str:
    """What a user knows a stage as: the statement that it is of, and what it does where the statement has several."""
    if stage["kind"] == "write":
        return f"output of {stage['statement']}"
    if stage["kind"] in ("read", "load_table"):
        return f"{'source' if stage['kind'] == 'read' else 'table'} {stage['name']}"
    statement, _, part = stage["name"].partition("/")
    return f"statement {statement}" + (f" ({part})" if part else "")


def field_changes(before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    """Every place where two stages differ, by its path, with both values; lists of named things whole.

    >>> list(field_changes({"a": {"b": 1}, "c": 2}, {"a": {"b": 3}, "c": 2}))
    [('a.b', 1, 3)]
    """
    for key in [*before, *(key for key in after if key not in before)]:
        one, other = before.get(key), after.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from ((f"{key}.{path}", old, new) for path, old, new in field_changes(one, other))
        elif one != other:
            yield key, one, other


def _changes(path: str, before: Any, after: Any) -> Iterator[str]:
    """Every place where two values differ, with both."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in [*before, *(key for key in after if key not in before)]:
            yield from _changes(f"{path}.{key}" if path else key, before.get(key), after.get(key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (one, other) in enumerate(zip(before, after, strict=True), 1):
            yield from _changes(f"{path}[{number}]", one, other)
    elif before != after:
        yield f"{path} is {shown(after)}, and was {shown(before)}"


def shown(value: Any) -> str:
    """
    >>> shown([{"name": "a"}, {"name": "b"}]), shown(None), shown("x")
    ('a, b', 'not there', 'x')
    """
    if value is None:
        return "not there"
    if isinstance(value, list) and all(isinstance(each, Mapping) and ("name" in each or "call" in each) for each in value):
        return ", ".join(str(each.get("name", each.get("call"))) for each in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
