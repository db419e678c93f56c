"""``windrow sql``: statements one by one, at a prompt or from a pipe."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from windrow.cli.arguments import Master
from windrow.cli.deployments import TokenFile


def sql(
    file: Annotated[str | None, typer.Argument(metavar="[FILE]", help="Streams and tables to start with.", show_default=False)] = None,
    master: Master = None,
    server: Annotated[
        str | None, typer.Option("--server", help="A server whose jobs and system tables are asked.", metavar="URL", show_default=False)
    ] = None,
    token_file: TokenFile = None,
) -> None:
    """Type SQL and see what comes out. Statements end with ; and \\? lists the commands."""
    from windrow.cli.deployments import client_of
    from windrow.cli.files import read_sql, shown_name, stem
    from windrow.cli.shell.loop import Shell
    from windrow.cli.shell.session import ShellSession
    from windrow.cli.shell.system import Outside
    from windrow.settings import environment, load_settings

    session = ShellSession(Path(file).parent if file else Path(), environment())
    state = f"{load_settings().state}/{stem(file)}" if file else ""
    outside = Outside(None if server is None else client_of(server, token_file), Path(load_settings().state))
    is_watched = sys.stdin.isatty() and sys.stdout.isatty()
    with Shell(session, master or load_settings().default_master, is_watched=is_watched, state=state, outside=outside) as shell:
        if file is not None:
            shell.load(read_sql(file), shown_name(file))
        code = shell.talk() if is_watched else shell.read(sys.stdin)
    if code:
        raise typer.Exit(code)
