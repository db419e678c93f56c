"""Reading what the user names: one clear error for everything a path can be wrong about."""

from __future__ import annotations

import sys
from pathlib import Path

from windrow.cli import codes
from windrow.errors import UsageError

STDIN = "-"


def read_sql(file: str) -> str:
    """The text of a file, or of standard input for ``-``."""
    data = sys.stdin.buffer.read() if file == STDIN else _bytes(Path(file))
    name = shown_name(file)
    if b"\0" in data:
        raise UsageError(codes.NOT_TEXT, f"{name} is not a text file", "give the path of a .sql file")
    try:
        # Some editors put a byte order mark first; it is no part of the text.
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(codes.NOT_TEXT, f"{name} is not UTF-8 text (byte {error.start})", "save it as UTF-8") from None
    if not text.strip():
        raise UsageError(codes.EMPTY_FILE, f"{name} is empty", "write a statement such as SELECT * FROM trades")
    return text


def shown_name(file: str) -> str:
    return "<stdin>" if file == STDIN else file


def stem(file: str) -> str:
    """
    >>> stem("jobs/candles.sql"), stem("-")
    ('candles', 'stdin')
    """
    return "stdin" if file == STDIN else Path(file).stem


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise UsageError(codes.NO_FILE, f"there is no file {path}", _nearby(path)) from None
    except IsADirectoryError:
        found = sorted(path.glob("*.sql"))
        hint = f"name a file in it: {found[0]}" if found else "give the path of a .sql file"
        raise UsageError(codes.IS_FOLDER, f"{path} is a folder", hint) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UsageError(codes.UNREADABLE, f"cannot read {path}: {reason}", "check its permissions: ls -l") from None


def _nearby(path: Path) -> str:
    from difflib import get_close_matches

    try:
        names = sorted(each.name for each in path.parent.glob("*.sql"))
    except OSError:
        names = []
    close = get_close_matches(path.name, names, 1)
    if close:
        return f"did you mean {path.parent / close[0]}?"
    return f"there are: {', '.join(names[:5])}" if names else "give the path of a .sql file"
