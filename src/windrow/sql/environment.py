"""Placeholders: ``${VAR}``, ``${VAR:-default}`` and ``${VAR:?message}`` become values before the text is read as SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from windrow.errors import Diagnostic, SqlError
from windrow.model.place import SourceText, Span
from windrow.sql import codes

_PLACEHOLDER = r"(?P<escape>\$\$\{)|\$\{(?P<body>[^}\r\n]*)(?P<close>\})?"
_OUTSIDE = re.compile(rf"(?P<comment>--[^\r\n]*|/\*.*?(?:\*/|\Z))|(?P<quote>['\"`])|{_PLACEHOLDER}", re.DOTALL)
_INSIDE = {quote: re.compile(rf"(?P<quote>{quote})|{_PLACEHOLDER}") for quote in "'\"`"}
_BODY = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:(:-|:\?)(.*))?")


def substitute(text: str, env: Mapping[str, str], name: str = "<sql>") -> str:
    """The text with every placeholder replaced, except in comments; raises SqlError with all that cannot be.

    As in a shell, ``:-`` and ``:?`` treat an empty variable as missing. ``$${`` is an escape and becomes ``${``.
    Inside quotes a quote in a value is doubled, so that a value never ends the string it stands in.

    >>> substitute("SELECT '${A}', ${N:-1}, '$${A}'", {"A": "it's"})
    "SELECT 'it''s', 1, '${A}'"
    """
    parts: list[str] = []
    faults: list[Diagnostic] = []
    done = 0
    for match, quote in _pieces(text):
        parts.append(text[done : match.start()])
        done = match.end()
        if match["escape"]:
            parts.append("${")
        elif match["body"] is not None:
            value = _value(match, env, faults)
            parts.append(value.replace(quote, quote * 2) if quote else value)
        else:
            parts.append(match[0])
    if faults:
        raise SqlError(tuple(faults), SourceText(text, name))
    return "".join([*parts, text[done:]])


def _pieces(text: str) -> Iterator[tuple[re.Match[str], str | None]]:
    """Comments, quotes, escapes and placeholders in order, each with the quotes that it stands in."""
    quote: str | None = None
    done = 0
    while match := (_INSIDE[quote] if quote else _OUTSIDE).search(text, done):
        done = match.end()
        yield match, quote
        if match["quote"]:
            quote = None if quote else match["quote"]


def placeholders(text: str) -> Iterator[tuple[str, str | None]]:
    """The name of every placeholder outside comments, and its default where it has one.

    >>> list(placeholders("SELECT '${A}', ${N:-1} -- ${C}"))
    [('A', None), ('N', '1')]
    """
    for match, _ in _pieces(text):
        parsed = _BODY.fullmatch(match["body"]) if match["body"] is not None else None
        if parsed is not None and match["close"]:
            yield parsed[1], parsed[3] if parsed[2] == ":-" else None


def fill(text: str, env: Mapping[str, str]) -> tuple[str, tuple[Diagnostic, ...]]:
    """The same for one value that is no SQL, in which quotes and comments mean nothing; with what is wrong with its placeholders.

    >>> fill("${HOST:-localhost}:9092 -- it's", {})
    ("localhost:9092 -- it's", ())
    """
    faults: list[Diagnostic] = []

    def replaced(match: re.Match[str]) -> str:
        return "${" if match["escape"] else _value(match, env, faults)

    return re.sub(_PLACEHOLDER, replaced, text), tuple(faults)


def _value(match: re.Match[str], env: Mapping[str, str], faults: list[Diagnostic]) -> str:
    span = Span(*match.span())
    parsed = _BODY.fullmatch(match["body"])
    if parsed is None or not match["close"]:
        hint = "write ${NAME}, ${NAME:-default} or ${NAME:?message}; $${ stands for ${ itself"
        faults.append(Diagnostic(codes.BAD_PLACEHOLDER, "this placeholder cannot be read", span, hint))
        return ""
    variable, operator, rest = parsed.groups()
    value = env.get(variable)
    if value is not None and (value or operator is None):
        return value
    if operator == ":-":
        return str(rest)
    why = f": {rest}" if rest else ""
    message = f'environment variable "{variable}" is not set{why}'
    faults.append(Diagnostic(codes.MISSING_VARIABLE, message, span, f"export {variable}=..., or give a default: ${{{variable}:-value}}"))
    return ""
