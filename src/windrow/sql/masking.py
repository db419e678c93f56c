"""A text without the secrets that its WITH lists hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from windrow.sql.dialect import Kind, Token, tokenize

MASK = "***"
_PLACEHOLDER = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_VALUES = (Kind.STRING, Kind.NUMBER, Kind.DURATION)


def mask_options(text: str, is_secret: Callable[[str], bool]) -> str:
    """The text with ``***`` for the value of each option that ``is_secret`` names. A placeholder alone tells nothing, so it stays.

    >>> mask_options("WITH ('user' = 'me', 'password' = 'hush', kafka.pin = 123, 'token' = '${TOKEN}')", lambda key: key != "user")
    "WITH ('user' = 'me', 'password' = '***', kafka.pin = '***', 'token' = '${TOKEN}')"
    """
    tokens = tokenize(text)
    parts: list[str] = []
    done = 0
    for place in range(2, len(tokens)):
        value = tokens[place]
        is_value = tokens[place - 1].key == "=" and value.kind in _VALUES and not _PLACEHOLDER.fullmatch(value.text)
        if is_value and is_secret(_key_before(tokens, place - 1)):
            parts += [text[done : value.start], f"'{MASK}'"]
            done = value.end
    return "".join([*parts, text[done:]])


def option_values(text: str) -> Iterator[tuple[str, Token]]:
    """The key and the value of every option in a WITH list, in order. Placeholders are as they were written.

    >>> [(key, value.text) for key, value in option_values("SELECT a = 'b' FROM t WITH ('user' = 'me', kafka.pin = '${PIN}')")]
    [('user', 'me'), ('kafka.pin', '${PIN}')]
    """
    tokens = tokenize(text)
    depth = 0
    for place in range(1, len(tokens)):
        if depth == 0 and tokens[place].key == "(" and tokens[place - 1].key == "WITH":
            depth = 1
        elif depth:
            depth += {"(": 1, ")": -1}.get(tokens[place].key, 0)
            if tokens[place - 1].key == "=" and tokens[place].kind in _VALUES:
                yield _key_before(tokens, place - 1), tokens[place]


def _key_before(tokens: list[Token], at: int) -> str:
    """The key of the option whose ``=`` stands there: in quotes, or bare words with dots between."""
    first = at - 1
    if tokens[first].kind is Kind.STRING:
        return tokens[first].text
    while first >= 2 and tokens[first - 1].key == ".":
        first -= 2
    return ".".join(token.text for token in tokens[first:at] if token.key != ".")
