"""``windrow fmt``: a file in the one canonical layout."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from windrow.cli import codes
from windrow.cli.app import FAILED
from windrow.cli.arguments import SqlFile
from windrow.cli.files import STDIN, read_sql, shown_name


def format_file(
    file: SqlFile,
    check: Annotated[bool, typer.Option("--check", help="Only say whether the file is formatted; exit code 1 if not.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Rewrite the file instead of printing.")] = False,
) -> None:
    """Print a SQL file in canonical layout."""
    from windrow.errors import UsageError
    from windrow.sql import canonical_layout

    if check and write:
        raise UsageError(codes.CONFLICT, "--check and --write exclude each other", "choose one of them")
    if write and file == STDIN:
        raise UsageError(codes.CONFLICT, "--write needs a file, not standard input", "leave --write out to print the result")
    text = read_sql(file)
    formatted = canonical_layout(text, shown_name(file))
    if check:
        is_same = text.replace("\r\n", "\n") == formatted
        print(f"{shown_name(file)} is {'formatted' if is_same else 'not formatted: windrow fmt --write'}")
        raise typer.Exit(0 if is_same else FAILED)
    if not write:
        print(formatted, end="")
        return
    _rewrite(Path(file), text, formatted)


def _rewrite(path: Path, before: str, after: str) -> None:
    from windrow.errors import UsageError

    if before == after:
        print(f"{path}: unchanged")
        return
    try:
        path.write_text(after, encoding="utf-8", newline="\n")
    except OSError as error:
        raise UsageError(codes.UNWRITABLE, f"cannot write {path}: {error.strerror}", "check its permissions: ls -l") from None
    print(f"{path}: formatted")
