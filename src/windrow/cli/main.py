"""Where ``windrow`` starts. Only what a command needs is imported, because most of a short command's time goes there."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from windrow.cli.commands import COMMANDS, GROUPS, LISTED, START, TITLE, overview

if TYPE_CHECKING:
    import typer

    app: typer.Typer

__all__ = ["app", "main", "make_app"]

_NARROWEST, _WIDEST = 60, 110
INTERRUPTED = 130


def main() -> None:
    try:
        words = sys.argv[1:]
        if words in (["--help"], ["-h"]):
            print(overview(_width()))
        else:
            make_app(words[0] if words else None)()
    except KeyboardInterrupt:
        # What a command does about it, the command knows; here nothing has begun.
        print("interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


def make_app(only: str | None = None) -> typer.Typer:
    """The commands; with ``only``, and if there is such a command, that one alone."""
    from windrow.cli.app import new_app, new_group

    made = new_app(TITLE, START)
    is_known = only in COMMANDS or only in GROUPS
    for name, (place, _) in COMMANDS.items():
        if not is_known or name == only:
            made.command(name)(_command(place))
    for name, (text, places) in GROUPS.items():
        if is_known and name != only:
            continue
        group = new_group(text, is_listed=name in LISTED)
        for own, place in places.items():
            group.command(own)(_command(place))
        made.add_typer(group, name=name)
    return made


def _command(place: str) -> Any:
    from importlib import import_module

    from windrow.cli.app import guarded

    module, _, function = place.partition(":")
    return guarded(getattr(import_module(f"windrow.cli.{module}"), function))


def _width() -> int:
    import shutil

    return max(_NARROWEST, min(_WIDEST, shutil.get_terminal_size().columns))


def __getattr__(name: str) -> Any:
    if name == "app":
        return make_app()
    raise AttributeError(f"module {__name__} has no attribute {name}")
