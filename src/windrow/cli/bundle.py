"""``windrow bundle``: a job in one zip, for somebody who is to help with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from windrow.cli.arguments import AtServer, Env, Reach, State, Target
from windrow.cli.deployments import TokenFile, client_of
from windrow.cli.state_option import opened_state

Output = Annotated[Path | None, typer.Option("--output", "-o", help="Else NAME-bundle.zip here.", metavar="FILE", show_default=False)]


def write_bundle(
    target: Target,
    output: Output = None,
    with_rows: Annotated[bool, typer.Option("--rows/--no-rows", help="Of a file: dead letters and keys of groups, too.")] = False,
    state: State = None,
    settings: Reach = None,
    env: Env = None,
    server: AtServer = None,
    token_file: TokenFile = None,
) -> None:
    """Pack all that helps to understand a job into one zip, without secrets; the page of a server opens it."""
    if server is not None:
        name, packed = target, client_of(server, token_file).bundle(target)
    else:
        name, packed = _of_file(target, state, settings, env, with_rows)
    path = output or Path(f"{name}-bundle.zip")
    path.write_bytes(packed)
    print(f"{path}: {len(packed):,} bytes; open it on the page of a server, at #/bundle")


def _of_file(file: str, state: str | None, settings: list[str] | None, env: str | None, with_rows: bool) -> tuple[str, bytes]:
    from windrow.cli import codes
    from windrow.cli.files import stem
    from windrow.cli.project import chosen_for, compile_chosen
    from windrow.errors import UsageError
    from windrow.server.bundle import pack_folder
    from windrow.server.job_views import JobFile
    from windrow.storage.local import LocalFolder

    folder = opened_state(file, state, settings, env)
    if not isinstance(folder, LocalFolder):
        raise UsageError(codes.CONFLICT, f"{folder.path} is not on a local disk", "copy the folder, and name the copy with --state")
    compiled = compile_chosen(file, chosen_for(file, env))
    return stem(file), pack_folder(JobFile(stem(file), compiled, folder), with_rows=with_rows).to_zip()
