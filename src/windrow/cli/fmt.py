"""``windrow fmt``: a file in the one canonical layout."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from windrow.cli import codes
from windrow.cli.app import FAILED
from windrow.cli.arguments import SqlFile
from windrow.cli.files import STDIN, read_sql, shown_name

_REGION = re.compile(
    r"(?P<comment>--[^\r\n]*|/\*.*?(?:\*/|\Z))|(?P<quoted>'[^']*'|\"[^\"]*\"|`[^`]*`)|(?<!\$)(?P<bare>\$\{[^}\r\n]*\})", re.DOTALL
)
_PLACEHOLDER = re.compile(r"(?<!\$)\$\{([^}\r\n]*)\}")
# Characters of the private use area: no file has them.
_OPEN, _CLOSE = "\ue000", "\ue001"


def format_file(
    file: SqlFile,
    check: Annotated[bool, typer.Option("--check", help="Only say whether the file is formatted; exit code 1 if not.")] = False,
    write: Annotated[bool, typer.Option("--write", help="Rewrite the file instead of printing.")] = False,
) -> None:
    """Print a SQL file in canonical layout."""
    from windrow.errors import UsageError

    if check and write:
        raise UsageError(codes.CONFLICT, "--check and --write exclude each other", "choose one of them")
    if write and file == STDIN:
        raise UsageError(codes.CONFLICT, "--write needs a file, not standard input", "leave --write out to print the result")
    text = read_sql(file)
    formatted = layout(text, shown_name(file))
    if check:
        is_same = text.replace("\r\n", "\n") == formatted
        print(f"{shown_name(file)} is {'formatted' if is_same else 'not formatted: windrow fmt --write'}")
        raise typer.Exit(0 if is_same else FAILED)
    if not write:
        print(formatted, end="")
        return
    _rewrite(Path(file), text, formatted)


def layout(text: str, name: str) -> str:
    """The canonical text, with comments, and with placeholders as they were written."""
    from windrow.sql import format_with_comments, parse

    script = parse(_keep_placeholders(text, name), name)
    return format_with_comments(script).replace(_OPEN, "${").replace(_CLOSE, "}")


def _keep_placeholders(text: str, name: str) -> str:
    """The text with every placeholder inside quotes as a mark that parses as itself, so that no value of the environment gets in."""
    from windrow.errors import UsageError

    def change(match: re.Match[str]) -> str:
        if match["bare"]:
            line = text.count("\n", 0, match.start()) + 1
            message = f"{name} has the placeholder {match['bare']} outside of quotes (line {line}), which the formatter cannot keep"
            raise UsageError(codes.BARE_PLACEHOLDER, message, "format the file by hand")
        return _PLACEHOLDER.sub(rf"{_OPEN}\1{_CLOSE}", match[0]) if match["quoted"] else match[0]

    return _REGION.sub(change, text)


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
