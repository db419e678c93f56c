"""Phrases of other dialects whose replacement is made of the rest of the statement: one recogniser each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from windrow.errors import Diagnostic
from windrow.model.place import Span
from windrow.model.window_kinds import SPELLINGS
from windrow.sql import codes
from windrow.sql.dialect import Kind, Token
from windrow.sql.foreign import match_at, token_at, window_of
from windrow.sql.words import AGGREGATE_NAMES, quote_string


def explain_phrase(tokens: Sequence[Token], text: str, fault: Diagnostic) -> Diagnostic | None:
    """What a fault is about, if it stands in a phrase of another dialect."""
    return next((found for recognise in _RECOGNISERS if (found := recognise(tokens, text, fault)) is not None), None)


def _escaped_quote(tokens: Sequence[Token], _text: str, fault: Diagnostic) -> Diagnostic | None:
    r"""``'it\'s'``: the string ends at the quote in it, and what follows makes no sense."""
    for token, after in pairwise(tokens):
        is_cut = token.kind is Kind.STRING and token.text.endswith("\\") and after.start == token.end
        if is_cut and (fault.span is None or fault.span.start >= token.start):
            hint = f"write {quote_string(token.text[:-1] + chr(39))[:-1]}{after.text if after.kind is Kind.WORD else ''}...'"
            message = "a quote inside a string is doubled: a backslash is an ordinary character"
            return Diagnostic(codes.FOREIGN, message, Span(token.start, after.end), hint)
    return None


def _group_by_all(tokens: Sequence[Token], text: str, fault: Diagnostic) -> Diagnostic | None:
    """``GROUP BY ALL``: the items of the select list that hold no aggregate, a computed one by its alias or its place."""
    at = token_at(tokens, fault.span)
    if at is None or at < 2 or match_at(("GROUP", "BY", "ALL"), tokens, text, at - 2) is None:
        return None
    keys = []
    for number, (start, end) in enumerate(_select_items(tokens, at), 1):
        words = tokens[start:end]
        if not any(word.key.lower() in AGGREGATE_NAMES and after.key == "(" for word, after in pairwise(words)):
            is_plain = any(match_at(path, words, text, 0) is not None for path in _PLAIN if len(path) == len(words))
            is_named = (
                len(words) > 1
                and words[-1].kind in (Kind.WORD, Kind.QUOTED)
                and (words[-2].key == "AS" or words[-2].kind is not Kind.SYMBOL or words[-2].key in ")]")
            )
            keys.append(_written(words, text) if is_plain else words[-1].text if is_named else str(number))
    hint = f"write GROUP BY {', '.join(keys)}" if keys else "remove GROUP BY ALL"
    return Diagnostic(codes.FOREIGN, "the columns of GROUP BY are named", Span(tokens[at - 2].start, tokens[at].end), hint)


def _select_items(tokens: Sequence[Token], at: int) -> list[tuple[int, int]]:
    """Where the items of the last SELECT before a place stand: the tokens between the commas, up to FROM."""
    selects = [number for number in range(at) if tokens[number].key == "SELECT"]
    if not selects:
        return []
    start = selects[-1] + (2 if tokens[selects[-1] + 1].key == "DISTINCT" else 1)
    found: list[tuple[int, int]] = []
    depth = 0
    for number in range(start, at):
        key = tokens[number].key
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(key, 0)
        if depth == 0 and key in (",", "FROM"):
            found.append((start, number))
            start = number + 1
        if depth == 0 and key == "FROM":
            break
    return found


def _written(tokens: Sequence[Token], text: str) -> str:
    return text[tokens[0].start : tokens[-1].end]


def _emit_every(tokens: Sequence[Token], text: str, fault: Diagnostic) -> Diagnostic | None:
    """``EMIT CHANGES EVERY 5s`` and its kin: a trigger of the window, or the time between two batches where there is none."""
    at = token_at(tokens, fault.span)
    starts = [] if at is None else [start for start in range(max(0, at - 4), at + 1) if tokens[start].key == "EMIT"]
    found = next((match for start in starts for words in _EMIT_EVERY if (match := match_at(words.split(), tokens, text, start))), None)
    if found is None:
        return None
    length = found.held[0] if found.held else "30s"
    window = window_of(tokens, text)
    if window is not None:
        hint = f"write {window} TRIGGER EVERY {length} OR ON WATERMARK"
    else:
        is_grouped = any(match_at(("GROUP", "BY"), tokens, text, start) for start in range(len(tokens)))
        shown = quote_string(length) if " " in length else length
        hint = f"write EMIT CHANGES{' PER BATCH' if is_grouped else ''}, and start it with windrow run --trigger-interval {shown}"
    message = "how often a window emits early is a trigger" if window else "how often rows come out is said when the job starts"
    return Diagnostic(codes.FOREIGN, message, Span(tokens[found.start].start, tokens[found.end - 1].end), hint)


_EMIT_EVERY = (
    "EMIT CHANGES EVERY <length>", "EMIT FINAL EVERY <length>", "EMIT EVERY <length>", "EMIT PERIODIC <length>",
    "EMIT STREAM AFTER DELAY <length>", "EMIT AFTER DELAY <length>", "EMIT EARLY EVERY <length>", "EMIT EARLY",
)  # fmt: skip


def _window_among_keys(tokens: Sequence[Token], text: str, fault: Diagnostic) -> Diagnostic | None:
    """``GROUP BY k, WINDOW TUMBLING(5m)``: a clause that was taken for a key."""
    at = token_at(tokens, fault.span)
    if at is None or at < 2 or tokens[at - 1].key != "WINDOW" or tokens[at - 2].key not in (",", "BY") or tokens[at].key not in SPELLINGS:
        return None
    found = match_at(("<name>", "<(...)>"), tokens, text, at)
    groups = [start for start in range(at) if match_at(("GROUP", "BY"), tokens, text, start)]
    if found is None or not groups or groups[-1] + 2 > at - 1:
        return None
    window = text[tokens[at - 1].start : tokens[found.end - 1].end]
    keys = text[tokens[groups[-1]].start : tokens[at - 3].end] + " " if tokens[at - 2].key == "," else ""
    span = Span(tokens[at - 2].start if keys else tokens[groups[-1]].start, tokens[found.end - 1].end)
    return Diagnostic(codes.FOREIGN, "a window is a clause of its own, and no key of GROUP BY", span, f"write {keys}{window}")


_PLAIN = (("<name>", ".", "<name>"), ("<name>",))

_RECOGNISERS: tuple[Callable[[Sequence[Token], str, Diagnostic], Diagnostic | None], ...] = (
    _escaped_quote,
    _group_by_all,
    _emit_every,
    _window_among_keys,
)
