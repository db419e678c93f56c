"""Words of other dialects: a fault at one of them is answered with what to write here.

The words are data (``foreign_words``). They are looked for only where a statement could not be read, around the place of the fault,
so that nothing which this dialect understands is ever taken for something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from windrow.errors import Diagnostic
from windrow.model.place import Span
from windrow.model.window_kinds import SPELLINGS
from windrow.sql import codes
from windrow.sql.dialect import Kind, Token
from windrow.sql.durations import UNITS
from windrow.sql.words import RESERVED

_NEAR = 12
"""How many tokens before a fault a pattern may start: the longest there is has fewer."""


_SAYS_ENOUGH = frozenset({codes.MISPLACED, codes.REPEATED, codes.TOO_DEEP, codes.WINDOW_SIZE, codes.FOREIGN})
"""Faults of text that was understood: nothing of another dialect is the reason."""


@dataclass(frozen=True)
class Foreign:
    """A pattern of tokens, what it is called here, and the text to paste.

    A pattern is made of words and symbols, and of ``^`` (start of the statement), ``<name>``, ``<n>`` (a number), ``<s>`` (a string),
    ``<length>`` (of time) and ``<(...)>`` (what a pair of parentheses holds). What these stand for are ``{0}``, ``{1}``... of the hint,
    and ``{window}`` is the window of the statement.
    ``within`` is the first word that the statement must have.
    """

    pattern: str
    message: str
    hint: str
    within: str = ""


@dataclass(frozen=True)
class Match:
    """The tokens ``[start, end)`` of a statement that a pattern found, and what its places hold."""

    start: int
    end: int
    held: tuple[str, ...]


def explain_foreign(words: Sequence[Foreign], tokens: Sequence[Token], text: str, fault: Diagnostic) -> Diagnostic | None:
    """What a fault is about, if a word of another dialect stands there."""
    at = token_at(tokens, fault.span)
    if at is None or fault.code in _SAYS_ENOUGH:
        return None
    for word in words:
        if word.within and tokens[0].key != word.within:
            continue
        found = _find(word.pattern.split(), tokens, text, at)
        if found is not None:
            span = Span(tokens[found.start].start, tokens[found.end - 1].end)
            return Diagnostic(
                codes.FOREIGN,
                word.message.format(*found.held),
                span,
                word.hint.format(*found.held, window=window_of(tokens, text) or "WINDOW TUMBLING(...)"),
            )
    return None


def window_of(tokens: Sequence[Token], text: str) -> str | None:
    """``WINDOW TUMBLING(5m)`` as the statement has it."""
    for start in range(len(tokens)):
        found = match_at(_WINDOW, tokens, text, start)
        if found is not None and tokens[start + 1].key in SPELLINGS:
            return text[tokens[found.start].start : tokens[found.end - 1].end]
    return None


_WINDOW = ("WINDOW", "<name>", "<(...)>")


def token_at(tokens: Sequence[Token], span: Span | None) -> int | None:
    """The token that a fault points at, if it does not point behind the last."""
    return None if span is None else next((number for number, token in enumerate(tokens) if token.end > span.start), None)


def _find(pattern: list[str], tokens: Sequence[Token], text: str, at: int) -> Match | None:
    """The nearest place whose tokens the pattern covers, the one at fault among them."""
    for start in range(at, max(-1, at - _NEAR), -1):
        found = match_at(pattern, tokens, text, start)
        if found is not None and found.end > at:
            return found
    return None


def match_at(pattern: Sequence[str], tokens: Sequence[Token], text: str, start: int) -> Match | None:
    """The pattern where it starts at one token, if it does."""
    held: list[str] = []
    at = start
    for part in pattern:
        if part == "^":
            if at != 0:
                return None
            continue
        end = _part_end(part, tokens, at)
        if end is None:
            return None
        if part[0] == "<" and len(part) > 2:
            shown = text[tokens[at].start : tokens[end - 1].end]
            held.append(shown[1:-1].strip() if part == "<(...)>" else shown)
        at = end
    return Match(start, at, tuple(held))


def _part_end(part: str, tokens: Sequence[Token], at: int) -> int | None:
    """The place behind one part of a pattern, or None if something else stands there."""
    if at >= len(tokens):
        return None
    token = tokens[at]
    match part:
        case "<name>":
            is_there = token.kind is Kind.QUOTED or (token.kind is Kind.WORD and token.key not in RESERVED)
        case "<n>":
            is_there = token.kind is Kind.NUMBER
        case "<s>":
            is_there = token.kind is Kind.STRING
        case "<length>":
            return _length_end(tokens, at)
        case "<(...)>":
            return _closing(tokens, at)
        case _:
            is_there = token.key == part
    return at + 1 if is_there else None


def _length_end(tokens: Sequence[Token], at: int) -> int | None:
    """Behind ``5m``, ``5 MINUTES`` or ``INTERVAL '5' MINUTE``."""
    if tokens[at].kind is Kind.DURATION:
        return at + 1
    if tokens[at].key == "INTERVAL" and at + 1 < len(tokens):
        at += 1
    if tokens[at].kind not in (Kind.NUMBER, Kind.STRING):
        return None
    has_unit = at + 1 < len(tokens) and tokens[at + 1].text.lower() in UNITS
    return at + 2 if has_unit else at + 1


def _closing(tokens: Sequence[Token], at: int) -> int | None:
    depth = 0
    for number in range(at, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[number].key, 0)
        if depth == 0:
            return number + 1 if number > at else None
    return None
