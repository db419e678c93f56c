"""Where in the user's text something stands, and how that place is shown."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from windrow.model.secret_names import starred


@dataclass(frozen=True)
class Span:
    """Half-open character range ``[start, end)`` of the text after environment substitution."""

    start: int
    end: int

    def cover(self, other: Span | None) -> Span:
        """The smallest span that holds both."""
        if other is None:
            return self
        return Span(min(self.start, other.start), max(self.end, other.end))


@dataclass(frozen=True)
class SourceText:
    """A file's text with its name, able to point at a place in itself. ``written`` is the text before placeholders had values."""

    text: str
    name: str = "<sql>"
    written: str | None = field(default=None, repr=False, compare=False)
    line_starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = [0] + [i + 1 for i, char in enumerate(self.text) if char == "\n"]
        object.__setattr__(self, "line_starts", tuple(starts))

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, both counted from 1.

        >>> SourceText("a\\nbc").position(3)
        (2, 2)
        """
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def name_at(self, offset: int) -> str:  # noqa: ARG002  # a text of several files looks at it
        """The file that a character stands in."""
        return self.name

    def line(self, number: int) -> str:
        start = self.line_starts[number - 1]
        end = self.line_starts[number] - 1 if number < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r")

    def excerpt(self, span: Span) -> list[str]:
        """The line a span starts on, with carets under the span (cut at the line's end). Secrets in it are not shown."""
        line, column = self.position(span.start)
        shown = starred(self.line(line))
        width = max(1, min(span.end - span.start, len(shown) - column + 1))
        gutter = " " * len(str(line))
        # Tabs keep their width in the caret line, so that the caret stands under the right character.
        pad = "".join("\t" if char == "\t" else " " for char in shown[: column - 1])
        return [f"  {line} | {shown}", f"  {gutter} | {pad}{'^' * width}"]


@dataclass(frozen=True)
class Part:
    """A text that lies in a larger one, from ``start`` on."""

    start: int
    source: SourceText


@dataclass(frozen=True)
class JoinedText(SourceText):
    """Several files read as one text: places count through all of them, and are told in the file that they lie in.

    The last parts may lie beyond the text: what is read of another file, such as settings, has a place there and is no part of the SQL.
    """

    parts: tuple[Part, ...] = field(default=(), repr=False, compare=False)

    @staticmethod
    def of(before: tuple[SourceText, ...], main: SourceText, beyond: tuple[SourceText, ...] = ()) -> JoinedText:
        """
        >>> text = JoinedText.of((SourceText("SELECT 1;", "a.sql"),), SourceText("SELECT x", "b.sql"), (SourceText("k: v", "c.yaml"),))
        >>> text.text, text.position(17), text.name_at(17), text.excerpt(Span(20, 21))
        ('SELECT 1;\\nSELECT x', (1, 8), 'b.sql', ['  in c.yaml:', '  1 | k: v', '    |  ^'])
        """
        parts: list[Part] = []
        start = 0
        for source in (*before, main, *beyond):
            parts.append(Part(start, source))
            start += len(source.text) + 1
        read = (*before, main)
        written = "\n".join(source.text if source.written is None else source.written for source in read)
        return JoinedText("\n".join(source.text for source in read), main.name, written, tuple(parts))

    def part_at(self, offset: int) -> Part:
        return next(part for part in reversed(self.parts) if part.start <= max(0, offset))

    def position(self, offset: int) -> tuple[int, int]:
        part = self.part_at(offset)
        return part.source.position(offset - part.start)

    def name_at(self, offset: int) -> str:
        return self.part_at(offset).source.name

    def excerpt(self, span: Span) -> list[str]:
        """As of one text, after the name of the file where it is not the one that was asked for."""
        part = self.part_at(span.start)
        lines = part.source.excerpt(Span(span.start - part.start, span.end - part.start))
        return lines if part.source.name == self.name else [f"  in {part.source.name}:", *lines]
