"""Scripts back to text with their comments: each stays beside the word that it stood beside.

A comment is no part of a statement, so the canonical text is made without it. The tokens of the two texts are then matched, and every
comment is put into the gap between the tokens that it stood between: behind the word before it on its line, or on a line of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher

from windrow.model.place import Span
from windrow.model.statement import Script
from windrow.sql.dialect import Kind, Token, all_comments, tokenize
from windrow.sql.format import escape_placeholders, format_bare
from windrow.sql.precedence import SPELLINGS
from windrow.sql.script import match_annotation, split_statements

_INDENT = "  "
# Nothing stands between these and a comment before them.
_CLOSERS = (",", ")", "]", ".", "::")


@dataclass(frozen=True)
class Comment:
    """``is_trailing``: it follows something on its line. ``is_set_apart``: an empty line is above it."""

    text: str
    span: Span
    is_trailing: bool
    is_set_apart: bool

    @property
    def is_line(self) -> bool:
        return self.text.startswith("--")

    @property
    def is_annotation(self) -> bool:
        return match_annotation(self.text) is not None

    @property
    def shown(self) -> str:
        found = match_annotation(self.text)
        return self.text.replace("\r\n", "\n").rstrip() if found is None else f"-- @{found[1]}: {found[2]}".rstrip()


@dataclass
class _Piece:
    """One statement of the text: its tokens, and the comments before, within and behind it."""

    tokens: list[Token]
    end: int
    above: list[Comment] = field(default_factory=list)
    within: list[Comment] = field(default_factory=list)
    behind: list[Comment] = field(default_factory=list)


def format_with_comments(script: Script) -> str:
    """The canonical text of a script that was parsed, with all comments of its text.

    >>> from windrow.sql.script import parse
    >>> print(format_with_comments(parse("select a, -- the first\\n b from t; -- done")), end="")
    SELECT a, -- the first
      b
    FROM t; -- done
    """
    pieces, tail = _pieces(script.source.text)
    parts = []
    for statement, piece in zip(script.statements, pieces, strict=True):
        body = _with_comments(format_bare(statement), piece)
        behind = "".join(f" {comment.shown}" for comment in piece.behind)
        parts.append(f"{_above(piece.above)}{body}{behind}\n")
    if tail:
        parts.append(_above(tail))
    return "\n".join(parts)


def _pieces(text: str) -> tuple[list[_Piece], list[Comment]]:
    """The statements with their comments, and the comments behind the last."""
    pieces = [_Piece(tokens, _end(text, end)) for tokens, end in split_statements(tokenize(text), len(text)) if tokens]
    tail: list[Comment] = []
    for comment in _comments(text):
        piece = next((each for each in pieces if comment.span.start < each.end), None)
        before = [each for each in pieces if each.end <= comment.span.start]
        is_behind = (
            comment.is_trailing and bool(before) and not comment.is_annotation and "\n" not in text[before[-1].end : comment.span.start]
        )
        if piece is not None and comment.span.start > piece.tokens[0].start:
            piece.within.append(comment)
        elif is_behind:
            before[-1].behind.append(comment)
        elif piece is not None:
            piece.above.append(comment)
        else:
            tail.append(comment)
    return pieces, tail


def _end(text: str, end: int) -> int:
    """Where a statement ends: at its semicolon, or with the line of its last word."""
    return end if text[end : end + 1] == ";" else (text + "\n").find("\n", end)


def _comments(text: str) -> Iterator[Comment]:
    for span in all_comments(text):
        line = text[text.rfind("\n", 0, span.start) + 1 : span.start]
        above = text[: span.start].rstrip(" \t")
        yield Comment(text[span.start : span.end], span, bool(line.strip()), above.endswith(("\n\n", "\n\r\n")))


def _above(comments: Sequence[Comment]) -> str:
    """Comments on lines of their own. An empty line between two that are no annotations stays."""
    lines: list[str] = []
    for number, comment in enumerate(comments):
        if number and comment.is_set_apart and not comments[number - 1].is_annotation:
            lines.append("")
        lines.append(comment.shown)
    return "".join(f"{line}\n" for line in lines)


def _with_comments(bare: str, piece: _Piece) -> str:
    """A statement and its semicolon, with the comments that stood in it."""
    tokens = tokenize(bare)
    gaps = _gaps(piece, tokens)
    out = [escape_placeholders(bare[: tokens[0].end])]
    for number in range(1, len(tokens)):
        space, token = bare[tokens[number - 1].end : tokens[number].start], tokens[number]
        gap = _gap(gaps.get(number, []), space, _indent(bare, token.start), is_closed=token.key in _CLOSERS)
        out += [gap, escape_placeholders(bare[token.start : token.end])]
    last = gaps.get(len(tokens), [])
    # The semicolon stands before a comment at the end of its line, if that does not make an annotation or one comment of two.
    if len(last) == 1 and last[0].is_trailing and not last[0].is_annotation and not piece.behind:
        return "".join([*out, ";", " ", last[0].shown])
    return "".join([*out, _gap(last, "", _INDENT, is_closed=True).removesuffix(_INDENT), ";"])


def _indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())] + _INDENT


def _gap(comments: Sequence[Comment], space: str, indent: str, *, is_closed: bool) -> str:
    """What stands between two tokens: the comments, and a line end behind one that goes on to the end of its line."""
    if not comments:
        return space
    if "\n" in space:
        indent = space.rpartition("\n")[2]
    text = ""
    needs_line = False
    for comment in comments:
        is_alone = needs_line or not comment.is_trailing
        text += f"\n{indent}{comment.shown}" if is_alone else f" {comment.shown}"
        needs_line = is_alone or comment.is_line
    if not needs_line:
        return text + (space if space or is_closed else " ")
    return text + (space if "\n" in space else f"\n{indent}")


def _gaps(piece: _Piece, tokens: Sequence[Token]) -> dict[int, list[Comment]]:
    """For each gap, named by the token behind it, the comments that belong there. None stands before the first token."""
    gaps: dict[int, list[Comment]] = {}
    if not piece.within:
        return gaps
    places = _match([_key(token) for token in piece.tokens], [_key(token) for token in tokens])
    for comment in piece.within:
        after = sum(token.start < comment.span.start for token in piece.tokens)
        before = next((places[i] + 1 for i in range(after - 1, -1, -1) if i in places), None)
        behind = next((places[i] for i in range(after, len(piece.tokens)) if i in places), None)
        first, second = (before, behind) if comment.is_trailing or after == len(piece.tokens) else (behind, before)
        gap = first if first is not None else second
        gaps.setdefault(max(1, gap if gap is not None else len(tokens)), []).append(comment)
    return gaps


def _key(token: Token) -> str:
    match token.kind:
        case Kind.WORD | Kind.QUOTED:
            return token.text.upper()
        case Kind.SYMBOL:
            return SPELLINGS.get(token.key, token.key)
        case _:
            return f"'{token.text}"


def _match(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Which token of the new text each of the old became: the longest runs first, then what a clause that moved left over."""
    found: dict[int, int] = {}
    left, right = list(range(len(old))), list(range(len(new)))
    while left and right:
        matcher = SequenceMatcher(None, [old[i] for i in left], [new[i] for i in right], autojunk=False)
        pairs = [(left[a + i], right[b + i]) for a, b, size in matcher.get_matching_blocks() for i in range(size)]
        if not pairs:
            break
        found.update(pairs)
        left = [i for i in left if i not in found]
        taken = set(found.values())
        right = [i for i in right if i not in taken]
    return found
