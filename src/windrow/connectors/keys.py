"""The columns by which a sink replaces rows, as its options and its query have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windrow.errors import UsageError

if TYPE_CHECKING:
    from windrow.connectors.runtime import SinkRequest


def listed_names(text: str) -> tuple[str, ...]:
    """
    >>> listed_names("a, b,")
    ('a', 'b')
    """
    return tuple(name.strip() for name in text.split(",") if name.strip())


def key_columns(request: SinkRequest, adding: str, code: str) -> tuple[str, ...]:
    """None where rows are only added, which is what the mode ``adding`` asks for. ``code`` is that of a key that is missing."""
    mode = (request.options.get("write.mode") or "").lower()
    key = listed_names(request.options["key"]) if "key" in request.options else request.key
    if mode == adding:
        return ()
    if mode == "upsert" and not key:
        message = f"'write.mode' = 'upsert' needs a key, and {request.statement} has none"
        raise UsageError(code, message, "'key' = 'a,b', or SELECT a PRIMARY KEY")
    names = {column.name.lower() for column in request.columns}
    for part in key if names else ():
        if part.lower() not in names:
            there = ", ".join(column.name for column in request.columns)
            raise UsageError(code, f'the key "{part}" is no column of {request.statement}', f"it has: {there}")
    return key
