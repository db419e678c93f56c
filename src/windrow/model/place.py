"""Where in the user's text something stands, and how that place is shown."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field


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

    def line(self, number: int) -> str:
        start = self.line_starts[number - 1]
        end = self.line_starts[number] - 1 if number < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r")

    def excerpt(self, span: Span) -> list[str]:
        """The line a span starts on, with carets under the span (cut at the line's end)."""
        line, column = self.position(span.start)
        shown = self.line(line)
        width = max(1, min(span.end - span.start, len(shown) - column + 1))
        gutter = " " * len(str(line))
        # Tabs keep their width in the caret line, so that the caret stands under the right character.
        pad = "".join("\t" if char == "\t" else " " for char in shown[: column - 1])
        return [f"  {line} | {shown}", f"  {gutter} | {pad}{'^' * width}"]
