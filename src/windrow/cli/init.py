"""``windrow init``: a project that runs and passes its cases at once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[str | None, typer.Argument(metavar="[DIR]", help="Where it goes; this folder if not given.", show_default=False)]
Preset = Annotated[str | None, typer.Option("--preset", help="llm-ops, trading, iot, otel or web.", metavar="NAME", show_default=False)]


def init(folder: Folder = None, preset: Preset = None) -> None:
    """Make a project: sources, queries, cases, windrow.yaml and made-up rows. Asks what it is not told."""
    from windrow.presets import write_project

    is_asking = preset is None and sys.stdin.isatty()
    chosen = _known(_asked() if is_asking else preset)
    place = Path(typer.prompt("folder", default=chosen) if is_asking and folder is None else folder or ".")
    written = [*write_project(chosen, place), *_write_watching(place)]
    print(f"{len(written)} files of {chosen} in {place}: {', '.join(sorted(written))}\n")
    if place != Path():
        print(f"  cd {place}")
    print("  windrow run . --env dev     the queries over made-up rows")
    print("  windrow test .              its cases")
    print("  windrow config show         what holds, and why")


def _write_watching(folder: Path) -> list[str]:
    """The board and the rules of what the project runs: the same as ``windrow ops`` prints. Gives their paths."""
    from windrow.cli.ops import board_text, rules_text
    from windrow.presets import BOARD, RULES

    made = {BOARD: board_text(str(folder)), RULES: rules_text(str(folder))}
    for name, text in made.items():
        (folder / name).write_text(text, encoding="utf-8")
    return list(made)


def _asked() -> str:
    """Which preset, by its number or name."""
    from windrow.presets import PRESETS

    names = list(PRESETS)
    width = max(map(len, names))
    for number, (name, text) in enumerate(PRESETS.items(), 1):
        print(f"  {number}  {name:<{width}}  {text}")
    answer = str(typer.prompt("which one", default="1")).strip()
    return names[int(answer) - 1] if answer.isdecimal() and 0 < int(answer) <= len(names) else answer


def _known(preset: str | None) -> str:
    from windrow.catalog.names import closest
    from windrow.errors import UsageError
    from windrow.presets import PRESETS

    there = f"there are: {', '.join(PRESETS)}"
    if preset is None:
        raise UsageError("WR549", "which preset?", f"windrow init --preset llm-ops; {there}")
    if preset not in PRESETS:
        similar = closest(preset, PRESETS)
        raise UsageError("WR549", f'there is no preset "{preset}"', f"did you mean {similar[0]}? {there}" if similar else there)
    return preset
