"""Which value holds, where it comes from, and what of it is shown."""

from __future__ import annotations

import pytest

from tests.unit.config.conftest import InEnvironment
from windrow.config import TOP
from windrow.config.shown import differences, lines_of
from windrow.errors import SqlError

LAYERS = """master: local[1]
lateness: 1s
environments:
  base: {master: 'local[2]', trigger_interval: 1s, streams: {trades: {topic: a, format: json}}}
  prod:
    extends: base
    master: yarn
    lateness: null
    streams: {Trades: {TOPIC: b}}
"""


def test_a_child_goes_before_its_parent_and_both_before_the_top(in_environment: InEnvironment) -> None:
    assert in_environment(LAYERS).get("master") == "local[1]"
    assert in_environment(LAYERS, "base").get("master") == "local[2]"
    prod = in_environment(LAYERS, "prod")
    assert (prod.get("master"), prod.get("trigger_interval"), prod.get("lateness")) == ("yarn", "1s", None)
    assert prod.extends == ("base",)
    # Streams and options are one whatever the case of their letters.
    streams = {value.path[-1].lower(): value.text for values in prod.names_under("streams").values() for value in values}
    assert streams == {"topic": "b", "format": "json"}


def test_the_default_environment_is_taken_where_none_is_named(in_environment: InEnvironment) -> None:
    assert in_environment("default_environment: base\n" + LAYERS).name == "base"


def test_the_process_goes_before_the_file(in_environment: InEnvironment) -> None:
    found = in_environment("variables: {REGION: eu, ZONE: '${REGION:-none}-1'}", REGION="us")
    assert found.variables({"REGION": "us"}) == {"REGION": "us", "ZONE": "us-1"}
    assert [(line.value, line.source) for line in lines_of(found)] == [
        ("us", "environment variable REGION"),
        ("us-1", "windrow.yaml line 1"),
    ]


def test_a_missing_variable_matters_only_where_it_is_used(in_environment: InEnvironment) -> None:
    text = "environments:\n  dev: {master: 'local[1]'}\n  prod: {master: '${MASTER_URL}'}\n"
    assert in_environment(text, "dev").get("master") == "local[1]"
    with pytest.raises(SqlError, match="MASTER_URL") as caught:
        in_environment(text, "prod")
    assert [fault.code for fault in caught.value.diagnostics] == ["WR103"]
    assert "3 |   prod" in str(caught.value)


def test_a_value_out_of_a_placeholder_is_judged_too(in_environment: InEnvironment) -> None:
    with pytest.raises(SqlError, match="WR542"):
        in_environment("lateness: ${SOON}", SOON="soon")


def test_secrets_are_not_shown(in_environment: InEnvironment) -> None:
    text = """streams:
  trades: {kafka.sasl.jaas.config: hush, password: '${PW}', url: 'postgresql://me:hush@db/x?password=hush'}
variables: {API_KEY: hush}
"""
    shown = {line.key: line.value for line in lines_of(in_environment(text, PW="hush"))}
    assert "hush" not in str(shown)
    assert shown["streams.trades.password"] == "${PW}"
    assert shown["streams.trades.url"] == "postgresql://me:***@db/x?password=***"


def test_the_difference_of_two_environments(in_environment: InEnvironment) -> None:
    text = (
        "environments:\n  dev: {master: 'local[1]', lateness: 1s, variables: {TOKEN: a}}\n  prod: {lateness: 1s, variables: {TOKEN: b}}\n"
    )
    found = differences(in_environment(text, "dev"), in_environment(text, "prod"))
    assert found == [("master", "local[1]", None), ("variables.TOKEN", "***", "***")]


def test_defaults_are_shown_as_such(in_environment: InEnvironment) -> None:
    shown = {line.key: line for line in lines_of(in_environment("state: {home: resident}"), has_defaults=True)}
    assert (shown["state.home"].value, shown["state.home"].source) == ("resident", "windrow.yaml line 1")
    assert (shown["state.root"].value, shown["state.root"].source) == (".windrow", "default")


def test_what_holds_everywhere_can_be_asked_for_by_its_name(in_environment: InEnvironment) -> None:
    assert in_environment("default_environment: base\n" + LAYERS, TOP).get("master") == "local[1]"
