"""Trace ids of batches, and W3C trace contexts: which batch a result is of, and which producers its rows came from.

A batch is a trace. Its ids are made of the job and the number of the batch, so logs, dead letters and outputs can name them without
asking anybody, and a batch that runs again writes the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain, repeat

TRACEPARENT, TRACESTATE = "traceparent", "tracestate"
# How many producers a span links to: a sample of those of a batch, or a trace of a large batch would be larger than the batch.
MOST_LINKS = 32
# To find out how many rows come without a context, so many of a batch are looked at.
MOST_LOOKED_AT = 1000
_W3C = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")


@dataclass(frozen=True)
class TraceParent:
    """Where a trace goes on: the span that comes before, as the header ``traceparent`` has it."""

    trace_id: int
    span_id: int
    is_sampled: bool = True

    @staticmethod
    def parse(text: str | None) -> TraceParent | None:
        """None where the text is no context.

        >>> TraceParent.parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").is_sampled
        True
        >>> TraceParent.parse("00-00000000000000000000000000000000-b7ad6b7169203331-01")
        """
        found = _W3C.fullmatch(text.strip()) if text else None
        if found is None:
            return None
        trace, span, flags = (int(part, 16) for part in found.groups())
        return TraceParent(trace, span, bool(flags & 1)) if trace and span else None

    def __str__(self) -> str:
        """
        >>> str(TraceParent(1, 2))
        '00-00000000000000000000000000000001-0000000000000002-01'
        """
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{int(self.is_sampled):02x}"


def batch_trace_id(job_id: str, batch_id: int) -> int:
    """
    >>> batch_trace_id("a", 1) == batch_trace_id("a", 1) != batch_trace_id("a", 2)
    True
    """
    return int.from_bytes(sha256(f"{job_id}\n{batch_id}".encode()).digest()[:16]) or 1


def span_id(trace_id: int, *names: object) -> int:
    """The id of a span of a trace, by what it is about."""
    text = "\n".join(map(str, (trace_id, *names)))
    return int.from_bytes(sha256(text.encode()).digest()[:8]) or 1


@dataclass(frozen=True)
class Link:
    """To the span that produced a row. ``window_start`` is that of the window which the row went into, in microseconds, if it is one."""

    to: TraceParent
    window_start: int | None = None


@dataclass
class Producers:
    """The contexts in which rows of a batch were produced: the first few that differ. Producers that are not sampled do not count.

    Of the first rows, ``looked_at`` counts all and ``with_context`` those that came with a context, sampled or not. Results of windows are
    not counted: the rows that they are of were.
    """

    links: dict[str, Link] = field(default_factory=dict)
    looked_at: int = 0
    with_context: int = 0

    def see(self, headers: Iterable[str | bytes | None], window_starts: Sequence[int | None] = ()) -> None:
        """Take in values of the header ``traceparent``, one for each row, and the starts of their windows where they have any."""
        for value, start in zip(headers, chain(window_starts, repeat(None)), strict=False):
            is_counted = not window_starts and self.looked_at < MOST_LOOKED_AT
            if not is_counted and len(self.links) >= MOST_LINKS:
                return
            text = value.decode("ascii", "replace") if isinstance(value, bytes) else value
            found = None if text is None else TraceParent.parse(text)
            if is_counted:
                self.looked_at += 1
                self.with_context += found is not None
            if text is not None and found is not None and found.is_sampled and len(self.links) < MOST_LINKS:
                self.links.setdefault(text, Link(found, start))
