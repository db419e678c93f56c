"""The dialect's tokens: sqlglot's tokenizer with our settings, wrapped so that no character is ever skipped in silence.

This is the one module that touches sqlglot. Its tokenizer splits the text; its parser is not used, because it renames functions,
keeps no position for most nodes and forgives text that the contract wants refused (see the package docstring).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token as GlotToken
from sqlglot.tokenizer_core import TokenType
from sqlglot.tokens import Tokenizer as GlotTokenizer

from windrow.errors import Diagnostic
from windrow.model.place import Span
from windrow.sql import codes
from windrow.sql.durations import UNITS


class Windrow(Dialect):
    """Registered with sqlglot as ``windrow``."""

    class Tokenizer(GlotTokenizer):
        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ['"', "`"]
        # Words are never keywords here: every keyword may be a column's name, and the grammar knows where it is not.
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            "==": TokenType.EQ,
            "::": TokenType.DCOLON,
            "||": TokenType.DPIPE,
            ">=": TokenType.GTE,
            "<=": TokenType.LTE,
            "<>": TokenType.NEQ,
            "!=": TokenType.NEQ,
            "<=>": TokenType.NULLSAFE_EQ,
            "->": TokenType.ARROW,
        }
        COMMANDS: ClassVar[set[TokenType]] = set()
        # Comments are blanked out before sqlglot sees the text, so that one rule finds them everywhere.
        COMMENTS: ClassVar[list[str | tuple[str, str]]] = []


class Kind(Enum):
    WORD = "word"
    QUOTED = "quoted name"
    STRING = "string"
    NUMBER = "number"
    DURATION = "duration"
    SYMBOL = "symbol"
    JUNK = "junk"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """One piece of the text. ``key`` is what the grammar compares: a word in upper case or a symbol; "" for everything else."""

    kind: Kind
    text: str
    start: int
    end: int
    key: str = ""
    fault: Diagnostic | None = None

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)

    @property
    def shown(self) -> str:
        """The token as a message names it."""
        return "the end of the statement" if self.kind is Kind.END else f'"{printable(self.text)}"'


_REGION = re.compile(
    r"""(?P<line>--[^\r\n]*)
      | (?P<block>/\*(?:(?!\*/).)*+(?P<c1>\*/)?)
      | (?P<string>'(?:[^']|'')*+(?P<c2>')?)
      | (?P<name>"(?:[^"]|"")*+(?P<c3>")?|`(?:[^`]|``)*+(?P<c4>`)?)""",
    re.DOTALL | re.VERBOSE,
)
_NUMBER = re.compile(r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_MAX_DIGITS = 400
_MAX_SHOWN = 40
_KINDS = {
    TokenType.STRING: Kind.STRING,
    TokenType.NATIONAL_STRING: Kind.STRING,
    TokenType.IDENTIFIER: Kind.QUOTED,
    TokenType.NUMBER: Kind.NUMBER,
    TokenType.VAR: Kind.WORD,
}
_UNCLOSED = {"block": ("comment", "*/"), "string": ("string", "'"), "name": ("quoted name", "the same quote")}


def printable(text: str) -> str:
    """Text as a one-line message can hold it: cut when long, escaped where it cannot be seen."""
    cut = text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "..."
    return cut if cut.isprintable() else cut.encode("unicode_escape").decode("ascii")


def tokenize(text: str) -> list[Token]:
    """The tokens of a text, without comments; what cannot be read is a JUNK token that carries its diagnostic.

    >>> [(t.kind.value, t.text) for t in tokenize("TUMBLING(5m) -- five")]
    [('word', 'TUMBLING'), ('symbol', '('), ('duration', '5m'), ('symbol', ')')]
    """
    visible, junk = _blank_comments(text)
    try:
        raw = Windrow().tokenize(visible)
    except TokenError:
        whole = Span(len(text) - len(text.lstrip()), len(text.rstrip()))
        return [_junk(text, whole, codes.BAD_LITERAL, "the text cannot be split into words", "check its quotes")]
    found = _merge_numbers([_wrap(token) for token in raw], visible)
    return sorted([*found, *_uncovered(found, visible), *junk], key=lambda token: token.start)


def comments(text: str, start: int, end: int) -> list[Span]:
    """The places of the ``--`` comments between two tokens."""
    return [Span(*match.span()) for match in _REGION.finditer(text, start, end) if match.lastgroup == "line"]


def all_comments(text: str) -> list[Span]:
    """The places of all comments, in order; what only looks like one inside quotes is none."""
    return [Span(*match.span()) for match in _REGION.finditer(text) if match.lastgroup in ("line", "block")]


def _blank_comments(text: str) -> tuple[str, list[Token]]:
    """The text with spaces for comments and for what is never closed, and a JUNK token for each of the latter."""
    parts: list[str] = []
    junk: list[Token] = []
    done = 0
    for match in _REGION.finditer(text):
        group = match.lastgroup or ""
        is_closed = group == "line" or any(match.group("c1", "c2", "c3", "c4"))
        if not is_closed:
            what, closer = _UNCLOSED[group]
            opener = Span(match.start(), match.start() + (2 if group == "block" else 1))
            hint = f"close it with {closer}" + ("; a quote inside a string is doubled: 'it''s'" if closer == "'" else "")
            fault = Diagnostic(codes.UNCLOSED, f"this {what} is never closed", opener, hint)
            junk.append(Token(Kind.JUNK, match[0], match.start(), match.end(), fault=fault))
        elif match[0].startswith("/*+"):
            span = Span(*match.span())
            fault = Diagnostic(codes.HINT_COMMENT, "optimizer hints are not supported", span, "remove it")
            junk.append(Token(Kind.JUNK, match[0], match.start(), match.end(), fault=fault))
        if group in ("line", "block") or not is_closed:
            parts += [text[done : match.start()], " " * (match.end() - match.start())]
            done = match.end()
    return "".join([*parts, text[done:]]), junk


def _wrap(token: GlotToken) -> Token:
    start, end, text = token.start, token.end + 1, token.text
    kind = _KINDS.get(token.token_type, Kind.SYMBOL)
    if kind is Kind.WORD and not text.isidentifier():
        if text.startswith("$"):
            hint = "write ${NAME} for what the environment variable NAME holds"
            return _junk(text, Span(start, end), codes.BAD_LITERAL, "a statement has no parameters", hint)
        return _junk(text, Span(start, end), codes.BAD_LITERAL, f'unexpected "{printable(text)}"', "such a name needs backticks")
    if kind is Kind.NUMBER and not _NUMBER.fullmatch(text):
        return _junk(text, Span(start, end), codes.BAD_LITERAL, f'"{printable(text)}" is not a number', "write it like 1.5 or 1e3")
    if kind is Kind.NUMBER and len(text) > _MAX_DIGITS:
        return _junk(
            text,
            Span(start, end),
            codes.BAD_LITERAL,
            f'the number "{printable(text)}" has too many digits',
            f"write up to {_MAX_DIGITS} digits",
        )
    if kind is Kind.QUOTED and not text:
        return _junk(text, Span(start, end), codes.BAD_LITERAL, "a quoted name is empty", "write a name, or '' for an empty string")
    key = text.upper() if kind is Kind.WORD else text if kind is Kind.SYMBOL else ""
    return Token(kind, text, start, end, key)


def _merge_numbers(found: list[Token], text: str) -> list[Token]:
    """Joins a number and the word that touches it into a duration (``5m``), or into junk; ``.5`` becomes one number."""
    merged: list[Token] = []
    for token in found:
        last = merged[-1] if merged else None
        if last is None or last.end != token.start:
            merged.append(token)
        elif last.kind is Kind.NUMBER and token.kind in (Kind.WORD, Kind.JUNK):
            merged[-1] = _duration(text[last.start : token.end], last, token)
        elif last.key == "." and token.kind is Kind.NUMBER and _starts_number(merged, token):
            merged[-1] = Token(Kind.NUMBER, "." + token.text, last.start, token.end)
        else:
            merged.append(token)
    return merged


def _starts_number(merged: list[Token], digits: Token) -> bool:
    before = merged[-2] if len(merged) > 1 else None
    touches = before is not None and before.end == merged[-1].start and before.kind is not Kind.SYMBOL
    return not touches and digits.text[0].isdigit() and "." not in digits.text


def _duration(text: str, number: Token, unit: Token) -> Token:
    span = Span(number.start, unit.end)
    if unit.text.lower() in UNITS and re.fullmatch(r"\d+(?:\.\d+)?", number.text):
        return Token(Kind.DURATION, text, span.start, span.end)
    message = f'"{printable(text)}" is neither a number nor a length of time'
    return _junk(text, span, codes.BAD_DURATION, message, "write it like 500ms, 30s, 5m, 1h, 2d or 1w; as a name it needs backticks")


def _uncovered(found: list[Token], text: str) -> list[Token]:
    """Junk for every visible character that sqlglot passed over, such as its template comments."""
    skipped: list[Token] = []
    done = 0
    for start, end in [*((token.start, token.end) for token in found), (len(text), len(text))]:
        gap = text[done:start]
        if gap.strip():
            at = done + len(gap) - len(gap.lstrip())
            span = Span(at, at + len(gap.strip()))
            skipped.append(_junk(gap.strip(), span, codes.UNEXPECTED, f'unexpected "{printable(gap.strip())}"', "remove it"))
        done = max(done, end)
    return skipped


def _junk(text: str, span: Span, code: str, message: str, hint: str) -> Token:
    return Token(Kind.JUNK, text, span.start, span.end, fault=Diagnostic(code, message, span, hint))
