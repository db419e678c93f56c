"""The schema that editors get says what the reader says."""

from __future__ import annotations

import json

import jsonschema
import pytest
import yaml

from tests.unit.config.test_environments import LAYERS
from tests.unit.config.test_foreign import THEIRS
from windrow.config import SCHEMA_FILE, json_schema
from windrow.config.keys import SECTIONS

SCHEMA = json_schema()


def test_what_is_shipped_is_what_the_code_makes() -> None:
    """To write it anew: tools/generate_reference.py."""
    assert json.loads(SCHEMA_FILE.read_text(encoding="utf-8")) == SCHEMA


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("text", [LAYERS, THEIRS, *(f"{section.key}: {section.example}" for section in SECTIONS)])
def test_what_is_read_is_valid(text: str) -> None:
    jsonschema.validate(yaml.safe_load(text), SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "latenes: 5s",
        "environments: {dev: {extend: base}}",
        "watermark: {dealy: 5s}",
        "connectors: {kafak: {}}",
        "windows: {a: {sise: 5m}}",
        "state: {home: nowhere}",
    ],
)
def test_what_is_refused_is_not(text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(yaml.safe_load(text), SCHEMA)
