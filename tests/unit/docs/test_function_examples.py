"""Every function that a query can use has an example. They are run by tests/spark/test_functions.py."""

from __future__ import annotations

from tools.reference.calls import load
from windrow.catalog.functions import usable_functions

# Written as operators: their names are not followed by a parenthesis.
_OPERATORS = set("and or not in between div case when rlike regexp".split())


def test_every_function_has_an_example_and_every_example_a_function() -> None:
    assert set(load()) == set(usable_functions())


def test_every_example_calls_its_function() -> None:
    texts = {name: example.shown_call.lower() for name, example in load().items()}
    assert [name for name, text in texts.items() if (name if name in _OPERATORS else f"{name}(") not in text] == []
