"""Phrases of other dialects whose replacement is made of the rest of the statement: one recogniser each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from windrow.errors import Diagnostic
from windrow.model.place import Span
from windrow.sql import codes
from windrow.sql.dialect import Kind, Token
from windrow.sql.foreign import match_at, token_at
from windrow.sql.words import quote_string


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
    """``GROUP BY ALL``: the columns that stand alone in the select list."""
    at = token_at(tokens, fault.span)
    if at is None or at < 2 or match_at(("GROUP", "BY", "ALL"), tokens, text, at - 2) is None:
        return None
    selects = [i for i in range(at) if tokens[i].key == "SELECT"]
    columns: list[str] = []
    for start in range(selects[-1] + 1 if selects else at, at):
        plain = next((found for path in _PLAIN if (found := match_at(path, tokens, text, start)) is not None), None)
        if plain is not None and tokens[start - 1].key in ("SELECT", ",", "DISTINCT") and tokens[plain.end].key in (",", "FROM", "AS"):
            columns.append(text[tokens[start].start : tokens[plain.end - 1].end])
        if tokens[start].key == "FROM":
            break
    hint = f"write GROUP BY {', '.join(columns)}" if columns else "remove GROUP BY ALL"
    return Diagnostic(codes.FOREIGN, "the columns of GROUP BY are named", Span(tokens[at - 2].start, tokens[at].end), hint)


_PLAIN = (("<name>", ".", "<name>"), ("<name>",))

_RECOGNISERS: tuple[Callable[[Sequence[Token], str, Diagnostic], Diagnostic | None], ...] = (_escaped_quote, _group_by_all)
