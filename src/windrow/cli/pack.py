"""``windrow pack``: this environment as an archive that the workers of a cluster can run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def pack(
    extra: Annotated[
        list[str] | None,
        typer.Option(
            "--with", help="One more package of this environment, for functions of your own; repeat it for others.", metavar="NAME"
        ),
    ] = None,
    to: Annotated[Path | None, typer.Option("--to", help="Where to write it; else a folder of the user's cache.", metavar="FILE")] = None,
) -> None:
    """Make an archive of this Python with Windrow, for the workers of a cluster: windrow run --pack FILE ships it."""
    from windrow.cli.screen import say, screen
    from windrow.packing import make_pack
    from windrow.settings import load_settings

    console = screen(is_error=True)
    packed = make_pack(load_settings().cache_folder / "packs", extra or [], to)
    size, card = packed.path.stat().st_size / 1e6, packed.card
    how = "made" if packed.is_new else "there already, of the same"
    say(
        console,
        f"Python {card.python} with {len(card.packages)} packages for {card.system} {card.machine} ({card.libc}), {size:,.0f} MB, {how}",
    )
    # Alone on standard output: windrow run --pack $(windrow pack)
    print(packed.path)
