"""Reads an event back with the classes that OpenLineage makes from its published schema: what does not fit them is a TypeError."""

from __future__ import annotations

import importlib
import pkgutil
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any

import attr
from openlineage.client import generated
from openlineage.client.generated.base import BaseFacet, JobEvent, RunEvent

MODULES = [importlib.import_module(f"{generated.__name__}.{each.name}") for each in pkgutil.iter_modules(generated.__path__)]
FACETS = {name: kind for module in MODULES for name, kind in vars(module).items() if isinstance(kind, type) and issubclass(kind, BaseFacet)}


def read_back(event: Mapping[str, Any]) -> Any:
    """An event of a run or of a job; its address of a schema must be that of the class."""
    kind = RunEvent if "run" in event else JobEvent
    assert event["schemaURL"] == kind._get_schema()
    return _made(kind, {name: value for name, value in event.items() if name != "schemaURL"})


def facet(told: Mapping[str, Any]) -> Any:
    kind = FACETS[told["_schemaURL"].rpartition("/")[2]]
    assert told["_schemaURL"] == kind._get_schema()
    assert told["_producer"]
    own = {name: value for name, value in told.items() if not name.startswith("_")}
    if not {each.name for each in attr.fields(kind)} - {"_producer", "_schemaURL", "_deleted"}:
        # The kind of a facet of our own: it may hold anything.
        return own
    return _made(kind, own)


def _made(kind: Any, told: Mapping[str, Any]) -> Any:
    attr.resolve_types(kind)
    kinds = {each.name: each.type for each in attr.fields(kind)}
    return kind(**{name: _value(kinds.get(name, Any), value) for name, value in told.items()})


def _value(kind: Any, value: Any) -> Any:
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        kind = next(each for each in typing.get_args(kind) if each is not type(None))
    inner = typing.get_args(kind)
    if typing.get_origin(kind) is list:
        return [_value(inner[0], each) for each in value]
    if typing.get_origin(kind) is dict:
        is_facets = isinstance(inner[1], type) and issubclass(inner[1], BaseFacet)
        return {name: facet(each) if is_facets else _value(inner[1], each) for name, each in value.items()}
    if attr.has(kind):
        return _made(kind, value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(value)
    assert kind is Any or isinstance(value, kind), f"{value!r} is no {kind}"
    return value
