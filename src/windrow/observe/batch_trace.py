"""A committed batch as the spans of a trace, from what was measured while it ran. Knows nothing of who takes spans.

Only what ran is a span. Spark runs several operators as one job, whose time belongs to the operator that started it: the others have
rows, in the attributes of the batch, and no duration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from windrow.observe.traces import Link, TraceParent, batch_trace_id, span_id

# An operator that took less did nothing but hand a plan on.
_LEAST_NANOS = 1_000_000
Value = str | int | float | bool


class Stretch(Protocol):
    """A phase from when to when, in nanoseconds since the epoch, and the operator that it was a part of."""

    @property
    def phase(self) -> str: ...
    @property
    def operator(self) -> str | None: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


@dataclass(frozen=True)
class Operator:
    """What a span says of an operator: its kind and, for an output, the system it writes to and the place there."""

    kind: str
    statement: str
    attributes: Mapping[str, Value] = field(default_factory=dict)
    is_producer: bool = False


@dataclass(frozen=True)
class Span:
    """``kind`` is internal, consumer, producer or client, as OpenTelemetry has it; ``error`` is None where all went well."""

    trace_id: int
    span_id: int
    parent_id: int | None
    name: str
    kind: str
    start: int
    end: int
    attributes: Mapping[str, Value] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    error: str | None = None


@dataclass(frozen=True)
class TracedBatch:
    """One attempt at a batch."""

    job: str
    job_id: str
    batch_id: int
    attempt: int
    start: int
    end: int
    stretches: Sequence[Stretch]
    operators: Mapping[str, Operator]
    attributes: Mapping[str, Value] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    written_links: Mapping[str, tuple[Link, ...]] = field(default_factory=dict)
    error: str | None = None


def write_span(job_id: str, batch_id: int, operator: str) -> TraceParent:
    """The span of an output: the same in every attempt, for it is in the headers of what is written."""
    trace = batch_trace_id(job_id, batch_id)
    return TraceParent(trace, span_id(trace, "write", operator))


def attempt_span(job_id: str, batch_id: int, attempt: int, start: int) -> int:
    """The id of the span of an attempt at a batch; ``start`` is in nanoseconds since the epoch."""
    return span_id(batch_trace_id(job_id, batch_id), "attempt", attempt, start)


def spans_of(batch: TracedBatch) -> Iterator[Span]:
    """The batch first. A batch that failed is a span without parts: they ran in vain, and run again."""
    trace = batch_trace_id(batch.job_id, batch.batch_id)
    root = attempt_span(batch.job_id, batch.batch_id, batch.attempt, batch.start)
    about = {"windrow.job": batch.job, "windrow.batch.id": batch.batch_id, "windrow.attempt": batch.attempt, **batch.attributes}
    yield Span(trace, root, None, f"batch {batch.job}", "consumer", batch.start, batch.end, about, batch.links, batch.error)
    if batch.error is not None:
        return
    for number, stretch in enumerate(batch.stretches):
        operator = batch.operators.get(stretch.operator or "")
        is_output = operator is not None and operator.kind == "Write"
        if not is_output and stretch.end - stretch.start < _LEAST_NANOS:
            continue
        if operator is None or stretch.operator is None:
            yield Span(trace, span_id(root, number), root, stretch.phase.replace("_", " "), "internal", stretch.start, stretch.end)
        elif is_output:
            own, links = write_span(batch.job_id, batch.batch_id, stretch.operator), batch.written_links.get(stretch.operator, ())
            kind = "producer" if operator.is_producer else "client"
            name = f"write {operator.statement}"
            yield Span(trace, own.span_id, root, name, kind, stretch.start, stretch.end, operator.attributes, links)
        else:
            name = f"{stretch.phase} {operator.statement}"
            about = {"windrow.operator": operator.kind, **operator.attributes}
            yield Span(trace, span_id(root, number), root, name, "internal", stretch.start, stretch.end, about)
