"""Patterns of the SQL standard as regular expressions."""

from __future__ import annotations

_WILD = {"%": ".*", "_": "."}
# They mean the same in both.
_KEPT = frozenset("|*+?{}()[]")


def regular_expression(similar: str) -> str:
    """A pattern of SIMILAR TO as a regular expression of the whole text.

    >>> regular_expression("(ab|c)%.")
    '(?s)^(?:(ab|c).*\\\\.)$'
    """
    text, in_class, escaped = "", False, False
    for letter in similar:
        if escaped:
            text, escaped = text + "\\" + letter, False
        elif letter == "\\":
            escaped = True
        elif in_class:
            in_class = letter != "]"
            text += letter
        else:
            in_class = letter == "["
            text += _WILD.get(letter) or (letter if letter in _KEPT or letter.isalnum() or letter.isspace() else "\\" + letter)
    return f"(?s)^(?:{text})$"
