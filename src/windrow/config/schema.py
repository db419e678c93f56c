"""The JSON Schema of ``windrow.yaml``, for editors; made of the same keys that are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from windrow.config.keys import DEFAULT_ENVIRONMENT, ENVIRONMENTS, EXTENDS, FILE_LISTS, SCALARS, SECTIONS, Section
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import OptionKind, OptionSpec

_ENVIRONMENT = "#/$defs/environment"
# Beside this module, as it is shipped.
SCHEMA_FILE = Path(__file__).with_name("windrow.schema.json")
_ONE_VALUE = ["string", "number", "boolean", "null"]
# Sections of another system, of which the reader says more than a schema could.
_FOREIGN = {
    "windowing": "keys of another system, mapped to windows",
    "watermarks": "keys of another system, mapped to watermark and trigger_interval",
    "checkpointing": "keys of another system, mapped to state",
}


def json_schema() -> dict[str, Any]:
    """Values with placeholders are text; everything else is as ``windrow check --env`` has it, but for what needs the SQL files."""
    environment = {
        **{spec.key: _value(spec) for spec in SCALARS},
        **{section.key: _section(section) for section in SECTIONS},
        **{key: {"type": "object", "description": doc} for key, doc in _FOREIGN.items()},
    }
    shared = {key: {"$ref": f"#/$defs/{key}"} for key in environment}
    one = {"type": ["object", "null"], "additionalProperties": False, "properties": {EXTENDS.key: _value(EXTENDS), **shared}}
    several = {"type": "object", "description": "what differs from one place to another", "additionalProperties": {"$ref": _ENVIRONMENT}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "windrow.yaml",
        "description": "Environments of a Windrow project",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **{key: _files(doc) for key, (doc, _) in FILE_LISTS.items()},
            DEFAULT_ENVIRONMENT.key: _value(DEFAULT_ENVIRONMENT),
            **shared,
            ENVIRONMENTS: several,
        },
        "$defs": {"environment": one, **environment},
    }


def _files(doc: str) -> dict[str, Any]:
    return {"description": doc, "oneOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


def _section(section: Section) -> dict[str, Any]:
    if section.of is None:
        return {"description": section.doc, **_keys(section.specs(""))}
    if section.key == "connectors":
        named = {name: _keys(section.specs(name)) for name in CONNECTORS}
        return {"type": ["object", "null"], "description": section.doc, "additionalProperties": False, "properties": named}
    return {"type": ["object", "null"], "description": section.doc, "additionalProperties": _keys(section.specs(""))}


def _keys(specs: tuple[OptionSpec, ...] | None) -> dict[str, Any]:
    """Keys inside keys are keys with dots, so an object stands for any of them that it begins."""
    if specs is None:
        return {"type": ["object", "null"], "additionalProperties": {"type": [*_ONE_VALUE, "object"]}}
    exact = {spec.key: _value(spec) for spec in specs if not spec.key.endswith(".*")}
    heads = {spec.key.split(".")[0] for spec in specs if "." in spec.key}
    nested: dict[str, Any] = {head: {"type": "object"} for head in sorted(heads) if head not in exact}
    tiers: dict[str, Any] = {tier: {"type": "object"} for tier in ("hot", "warm", "cold")} if "snapshot" in heads else {}
    prefixed = {f"^{spec.key[:-1].replace('.', '[.]')}": _value(spec) for spec in specs if spec.key.endswith(".*")}
    made = {"type": ["object", "null"], "additionalProperties": False, "properties": {**exact, **nested, **tiers}}
    return {**made, "patternProperties": prefixed} if prefixed else made


def _value(spec: OptionSpec) -> dict[str, Any]:
    described = {"description": spec.doc} if spec.doc else {}
    example = {"examples": [spec.example]} if spec.example else {}
    if spec.choices and spec.kind is OptionKind.CHOICE:
        # YAML reads on and off as truth; they are taken as they are written.
        loose: list[dict[str, Any]] = [{"type": ["boolean", "null"]}, {"type": "string", "pattern": "[$][{]"}]
        return {**described, "anyOf": [{"enum": list(spec.choices)}, *loose]}
    return {**described, **example, "type": _ONE_VALUE}
