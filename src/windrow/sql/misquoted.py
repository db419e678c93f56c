"""Texts in double quotes, which are names here: found by reading the statement as if they had single ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from windrow.errors import Diagnostic
from windrow.model.place import Span
from windrow.model.window_kinds import SPELLINGS
from windrow.sql import codes
from windrow.sql.dialect import Kind, Token
from windrow.sql.durations import show_duration
from windrow.sql.lengths import parse_length
from windrow.sql.words import quote_string


def misquoted(tokens: Sequence[Token], text: str, fault: Diagnostic, read: Callable[[list[Token]], Diagnostic | None]) -> list[Diagnostic]:
    """One finding for each text in double quotes that is the reason of a fault; ``read`` gives the fault that is left."""
    found: list[Diagnostic] = []
    current = list(tokens)
    left: Diagnostic | None = fault
    while left is not None and left.span is not None:
        changed = next((number for number in _suspects(current, text, left.span) if _helps(current, number, read)), None)
        if changed is None:
            break
        found.append(_told(tokens, changed))
        current[changed] = _as_text(current[changed])
        left = read(current)
    return found


def _suspects(tokens: Sequence[Token], text: str, span: Span) -> list[int]:
    return [
        number
        for number, token in enumerate(tokens)
        if token.kind is Kind.QUOTED and text[token.start] == '"' and token.start < span.end and token.end > span.start
    ]


def _helps(tokens: list[Token], at: int, read: Callable[[list[Token]], Diagnostic | None]) -> bool:
    """Whether the statement can be read further than this place once a text stands there."""
    left = read([*tokens[:at], _as_text(tokens[at]), *tokens[at + 1 :]])
    return left is None or (left.span is not None and left.span.start >= tokens[at].end)


def _as_text(token: Token) -> Token:
    return replace(token, kind=Kind.STRING, key="")


def _told(tokens: Sequence[Token], at: int) -> Diagnostic:
    token = tokens[at]
    written = quote_string(token.text)
    if at >= 2 and tokens[at - 1].key == "(" and tokens[at - 2].key in SPELLINGS and (length := parse_length(token.text)) is not None:
        written = f"{tokens[at - 2].text}({show_duration(length)})"
    return Diagnostic(codes.FOREIGN, "a text has single quotes: double quotes are for names", token.span, f"write {written}")
