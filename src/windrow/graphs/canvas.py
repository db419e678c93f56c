"""Lines, boxes and text on a grid of characters. Lines that meet become corners and crossings."""

from __future__ import annotations

from collections.abc import Sequence

_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_LINES = {
    _UP: "│", _DOWN: "│", _UP | _DOWN: "│", _LEFT: "─", _RIGHT: "─", _LEFT | _RIGHT: "─",
    _DOWN | _RIGHT: "┌", _DOWN | _LEFT: "┐", _UP | _RIGHT: "└", _UP | _LEFT: "┘",
    _UP | _DOWN | _RIGHT: "├", _UP | _DOWN | _LEFT: "┤", _DOWN | _LEFT | _RIGHT: "┬", _UP | _LEFT | _RIGHT: "┴",
    _UP | _DOWN | _LEFT | _RIGHT: "┼",
}  # fmt: skip


class Canvas:
    def __init__(self) -> None:
        self._lines: dict[tuple[int, int], int] = {}
        self._text: dict[tuple[int, int], str] = {}

    def box(self, left: int, top: int, lines: Sequence[str], *, is_heavy: bool) -> None:
        """``is_heavy`` boxes have a double frame."""
        width = max(len(line) for line in lines) + 2
        corners = "╔═╗║╚╝" if is_heavy else "┌─┐│└┘"
        self.write(left, top, f"{corners[0]}{corners[1] * width}{corners[2]}")
        for row, line in enumerate(lines, top + 1):
            self.write(left, row, f"{corners[3]} {line.ljust(width - 2)} {corners[3]}")
        self.write(left, top + len(lines) + 1, f"{corners[4]}{corners[1] * width}{corners[5]}")

    def down(self, column: int, top: int, bottom: int) -> None:
        for row in range(top, bottom):
            self._add(column, row, _DOWN)
            self._add(column, row + 1, _UP)

    def across(self, start: int, end: int, row: int) -> None:
        for column in range(min(start, end), max(start, end)):
            self._add(column, row, _RIGHT)
            self._add(column + 1, row, _LEFT)

    def write(self, column: int, row: int, text: str) -> None:
        self._text.update({(column + i, row): char for i, char in enumerate(text)})

    def _add(self, column: int, row: int, direction: int) -> None:
        self._lines[column, row] = self._lines.get((column, row), 0) | direction

    def text(self) -> str:
        """
        >>> canvas = Canvas()
        >>> canvas.down(0, 0, 1); canvas.across(0, 2, 1); canvas.down(2, 1, 2); canvas.write(2, 2, "▼ 7")
        >>> print(canvas.text())
        │
        └─┐
          ▼ 7
        """
        places = {**{place: _LINES[directions] for place, directions in self._lines.items()}, **self._text}
        rows: list[str] = []
        for row in range(max((row for _, row in places), default=-1) + 1):
            columns = {column: char for (column, own), char in places.items() if own == row}
            rows.append("".join(columns.get(column, " ") for column in range(max(columns, default=-1) + 1)).rstrip())
        return "\n".join(rows)
