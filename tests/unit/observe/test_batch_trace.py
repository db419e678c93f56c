"""A batch as spans: what becomes one, whose child it is, and which ids it has."""

from __future__ import annotations

from dataclasses import dataclass, replace

from windrow.observe.batch_trace import Operator, TracedBatch, spans_of, write_span
from windrow.observe.traces import MOST_LINKS, MOST_LOOKED_AT, Link, Producers, TraceParent, batch_trace_id

MS = 1_000_000


@dataclass(frozen=True)
class Stretch:
    phase: str
    operator: str | None
    start: int
    end: int


BATCH = TracedBatch(
    job="orders",
    job_id="an id",
    batch_id=7,
    attempt=1,
    start=0,
    end=100 * MS,
    stretches=[
        Stretch("read", "orders", 1 * MS, 1 * MS + 5),
        Stretch("step", "by_minute", 40 * MS, 50 * MS),
        Stretch("aggregate", "by_minute", 2 * MS, 50 * MS),
        Stretch("write", "by_minute -> kafka", 50 * MS, 50 * MS + 10),
        Stretch("commit", None, 60 * MS, 70 * MS),
    ],
    operators={
        "orders": Operator("Read", "orders"),
        "by_minute": Operator("Aggregate", "by_minute"),
        "by_minute -> kafka": Operator("Write", "by_minute", {"messaging.system": "kafka"}, is_producer=True),
    },
)


def test_what_ran_is_a_span_below_the_batch() -> None:
    root, *rest = spans_of(BATCH)
    assert (root.name, root.kind, root.parent_id) == ("batch orders", "consumer", None)
    assert [(span.name, span.kind) for span in rest] == [
        ("step by_minute", "internal"),
        ("aggregate by_minute", "internal"),
        ("write by_minute", "producer"),
        ("commit", "internal"),
    ]
    assert {span.parent_id for span in rest} == {root.span_id}
    assert {span.trace_id for span in (root, *rest)} == {batch_trace_id("an id", 7)}
    assert len({span.span_id for span in (root, *rest)}) == 5


def test_an_output_has_the_span_that_its_headers_name_in_every_attempt() -> None:
    for attempt in (1, 2):
        written = next(span for span in spans_of(replace(BATCH, attempt=attempt, start=attempt)) if span.kind == "producer")
        assert TraceParent(written.trace_id, written.span_id) == write_span("an id", 7, "by_minute -> kafka")


def test_a_batch_that_failed_has_its_error_and_no_parts() -> None:
    (only,) = spans_of(replace(BATCH, error="[WR860] a broker does not answer"))
    assert only.error == "[WR860] a broker does not answer"
    assert only.attributes["windrow.attempt"] == 1


def test_attempts_are_spans_of_one_trace() -> None:
    first, second = (next(iter(spans_of(replace(BATCH, attempt=n)))) for n in (1, 2))
    assert first.trace_id == second.trace_id
    assert first.span_id != second.span_id


def test_a_batch_links_to_the_first_producers_that_are_sampled() -> None:
    producers = Producers()
    producers.see(["no context", None, str(TraceParent(1, 1, is_sampled=False)), str(TraceParent(1, 2)), str(TraceParent(1, 2)).encode()])
    assert list(producers.links.values()) == [Link(TraceParent(1, 2))]
    assert (producers.looked_at, producers.with_context) == (5, 3)
    producers.see(str(TraceParent(2, n)) for n in range(1, 100))
    assert len(producers.links) == MOST_LINKS
    assert producers.looked_at == 104
    producers.see(str(TraceParent(3, n)) for n in range(1, 2 * MOST_LOOKED_AT))
    assert producers.looked_at == MOST_LOOKED_AT


def test_a_link_of_a_window_has_its_start_and_is_counted_with_its_rows() -> None:
    producers = Producers()
    producers.see([str(TraceParent(1, 2)), None, str(TraceParent(1, 3))], [60, 120, 180])
    assert list(producers.links.values()) == [Link(TraceParent(1, 2), 60), Link(TraceParent(1, 3), 180)]
    assert producers.looked_at == 0
