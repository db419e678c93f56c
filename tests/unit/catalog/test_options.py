"""Options that do not belong to a connector."""

from __future__ import annotations

import pytest

from windrow.catalog.options import QUERY_OPTIONS, SOURCE_OPTIONS, options_for_query, options_for_sink, options_for_source
from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import OptionKind
from windrow.sql import parse_duration


@pytest.mark.parametrize("option", [*SOURCE_OPTIONS, *QUERY_OPTIONS], ids=lambda option: str(option.key))
def test_defaults_and_examples_are_valid(option: object) -> None:
    from windrow.connectors.spec import OptionSpec

    assert isinstance(option, OptionSpec)
    assert option.doc
    assert option.example
    for value in (option.default, option.example):
        if value is not None and option.kind is OptionKind.CHOICE:
            assert value in option.choices
        if value is not None and option.kind is OptionKind.DURATION:
            assert parse_duration(value) is not None


@pytest.mark.parametrize("connector", [*CONNECTORS, None, "nothing"])
def test_each_key_is_listed_once(connector: str | None) -> None:
    for options in (options_for_source(connector), options_for_sink(connector), options_for_query()):
        keys = [option.key for option in options]
        assert len(keys) == len(set(keys))
