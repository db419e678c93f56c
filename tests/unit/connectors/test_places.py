"""What is outside has a name for every connector, also for one that does not say how its places are called."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from windrow.connectors.registry import CONNECTORS
from windrow.connectors.spec import ConnectorSpec, Messages, OptionKind, OptionSpec, Place

_URL = OptionSpec("url", OptionKind.TEXT, "where it is, with a password", example="x://me:secret@db", is_secret=True)
_PATH = OptionSpec("path", OptionKind.PATH, "the file", example="a.db")
STRANGE = ConnectorSpec("strange", "of a package", "strange:Strange", source=(_PATH,), sink=(_URL, _PATH))


def test_a_connector_that_does_not_say_is_named_by_its_options_but_for_secrets() -> None:
    assert STRANGE.places_of({"url": "x://me:secret@db", "path": "a.db", "table": "t"}) == (Place("strange", "a.db#t"),)


@pytest.mark.parametrize(
    ("options", "places"),
    [
        ({"bootstrap.servers": "b:1", "topic": "x, y"}, (Place("kafka://b:1", "x"), Place("kafka://b:1", "y"))),
        ({"bootstrap.servers": "b", "topic.pattern": "x.*"}, (Place("kafka://b:9092", "x.*", is_pattern=True),)),
    ],
)
def test_a_source_may_read_several_topics_or_those_that_fit(options: Mapping[str, str], places: tuple[Place, ...]) -> None:
    assert CONNECTORS["kafka"].places_of(options) == places


def test_only_messages_are_told_of_as_such() -> None:
    told = {name: spec.messages({"topic": "x"}) for name, spec in CONNECTORS.own().items()}
    assert {name: messages for name, messages in told.items() if messages is not None} == {"kafka": Messages("kafka", "x")}
