"""The arithmetic of fixed windows: which windows hold a time, and the slices they share.

A fixed window kind is described by (size, advance, offset); tumbling has advance = size. All in microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd


@dataclass(frozen=True)
class Fixed:
    size: int
    advance: int
    offset: int = 0

    @property
    def slice(self) -> int:
        """Width of the pieces that every window is a whole number of.

        >>> Fixed(size=15, advance=10).slice
        5
        """
        return gcd(self.size, self.advance)

    def slice_start(self, at: int) -> int:
        """Start of the slice that holds a time. Rounds down before 1970 too.

        >>> Fixed(10, 10).slice_start(-1), Fixed(10, 10, offset=3).slice_start(2)
        (-10, -7)
        """
        return at - (at - self.offset) % self.slice

    def last_start(self, at: int) -> int:
        """Start of the latest window that holds a time (``at`` may also be a slice start)."""
        return at - (at - self.offset) % self.advance

    def window_starts(self, at: int) -> range:
        """Starts of every window that holds a time, earliest first.

        >>> list(Fixed(size=10, advance=5).window_starts(12))
        [5, 10]
        >>> list(Fixed(size=10, advance=10).window_starts(-1))   # before 1970 rounds down, not toward zero
        [-10]
        >>> list(Fixed(size=7, advance=3).window_starts(7))      # the size need not be a multiple of the advance
        [3, 6]
        """
        last = self.last_start(at)
        # The earliest window that still holds ``at`` starts after at - size.
        reach = (self.size - 1 - (at - last)) // self.advance
        return range(last - reach * self.advance, last + 1, self.advance)

    def last_end(self, at: int) -> int:
        """End of the latest window that holds a time: once that has closed, nothing takes a row stamped ``at`` any more."""
        return self.last_start(at) + self.size

    def earliest_open_start(self, watermark: int) -> int:
        """Start of the earliest window that a watermark leaves open.

        >>> Fixed(10, 10).earliest_open_start(20)
        20
        >>> Fixed(size=10, advance=5).earliest_open_start(21)
        15
        """
        # The least start with start + size > watermark.
        least = watermark - self.size + 1
        return least + (self.offset - least) % self.advance
