"""The list of commands is what the commands are, though it is written without importing them."""

from __future__ import annotations

from importlib import import_module

import pytest

from windrow.cli.commands import COMMANDS, GROUPS, overview


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_with_the_sentence_that_its_own_help_begins_with(name: str) -> None:
    place, text = COMMANDS[name]
    module, _, function = place.partition(":")
    said = getattr(import_module(f"windrow.cli.{module}"), function).__doc__
    assert said.startswith(text)


@pytest.mark.parametrize("group", GROUPS)
def test_every_command_of_a_group_is_there(group: str) -> None:
    for place in GROUPS[group][1].values():
        module, _, function = place.partition(":")
        assert callable(getattr(import_module(f"windrow.cli.{module}"), function))


@pytest.mark.parametrize("width", [60, 110])
def test_the_overview_fits_its_width_and_names_every_command(width: int) -> None:
    lines = overview(width).splitlines()
    assert max(map(len, lines)) <= width
    for name in (*COMMANDS, *GROUPS):
        assert any(line.startswith(f"  {name} ") for line in lines)
