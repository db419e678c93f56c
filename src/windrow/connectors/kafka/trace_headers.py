"""Trace contexts in the headers of records: whose trace a reader of an output goes on with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from windrow.connectors.kafka.records import Headers, Records
from windrow.connectors.runtime import EMISSION, Output
from windrow.model.row_protocol import START

TRACEPARENT, TRACESTATE = "traceparent", "tracestate"
_OWN = frozenset((TRACEPARENT, TRACESTATE))


def with_trace(records: Iterator[Records], output: Output) -> Iterator[Records]:
    """A record that stands for one row keeps the context it came with. One that stands for many rows has that of the batch, and so has
    one that came without, or from a source whose contexts are not to be looked at.
    """
    trace = output.trace
    if trace is None:
        yield from records
        return
    is_new = EMISSION in _columns(output) or not trace.follows
    done = 0
    for part in records:
        own = part.headers or [None] * len(part)
        if trace.follows:
            trace.see((_context(headers) for headers in own), _window_starts(output, done, len(own)))
        done += len(own)
        yield replace(part, headers=[_traced(headers, trace.traceparent, is_new) for headers in own])


def _window_starts(output: Output, first: int, count: int) -> list[int | None]:
    """Of the windows whose results are written, in microseconds; none where rows are no results of windows."""
    if output.table is None or START not in output.table.column_names:
        return []
    starts: list[int | None] = output.table[START].slice(first, count).cast(pa.int64()).to_pylist()
    return starts


def _columns(output: Output) -> list[str]:
    if output.table is not None:
        return list(output.table.column_names)
    return [] if output.frame is None else list(output.frame.columns)


def _context(headers: Headers | None) -> str | bytes | None:
    return next((value for name, value in headers or () if name == TRACEPARENT), None)


def _traced(headers: Headers | None, traceparent: str, is_new: bool) -> Headers:
    """
    >>> _traced([("a", "1"), ("traceparent", "x"), ("tracestate", "y")], "new", True)
    [('a', '1'), ('traceparent', 'new')]
    >>> _traced([("traceparent", "x")], "new", False)
    [('traceparent', 'x')]
    >>> _traced(None, "new", False)
    [('traceparent', 'new')]
    """
    if not is_new and _context(headers) is not None:
        return headers or []
    return [*(one for one in headers or () if one[0] not in _OWN), (TRACEPARENT, traceparent)]
