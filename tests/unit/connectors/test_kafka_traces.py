"""Whose trace the records of an output are in, and what a batch learns of the traces that its rows came with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pytest

from windrow.compiler import compile_sql
from windrow.connectors.kafka.records import Records
from windrow.connectors.kafka.trace_headers import with_trace
from windrow.connectors.runtime import Output
from windrow.observe.traces import Link, Producers, TraceParent
from windrow.plan.headers import follows_context

CAME_WITH = str(TraceParent(7, 8))
TEXT = """
CREATE STREAM t (k STRING) WITH ('connector' = 'kafka', 'topic' = 't', 'bootstrap.servers' = 'b:9092', 'format' = 'json'{});
SELECT k FROM t;
"""


@dataclass
class Trace:
    follows: bool = True
    traceparent: str = "own"
    producers: Producers = field(default_factory=Producers)

    def see(self, headers: Iterable[str | bytes | None], window_starts: Sequence[int | None] = (), /) -> None:
        self.producers.see(headers, window_starts)


def _written(trace: Trace, table: pa.Table) -> list[str | bytes | None]:
    """Two records at a time, of which the first has a context."""
    parts = [Records([None] * 2, [b"{}"] * 2, [[("traceparent", CAME_WITH.encode())], None]) for _ in range(table.num_rows // 2)]
    told = with_trace(iter(parts), Output(1, ("k",), table, trace=trace))
    return [dict(headers or [])["traceparent"] for part in told for headers in part.headers or []]


def test_a_row_stays_in_the_trace_that_it_came_with() -> None:
    trace = Trace()
    assert _written(trace, pa.table({"k": ["a", "b"]})) == [CAME_WITH.encode(), "own"]
    assert list(trace.producers.links.values()) == [Link(TraceParent(7, 8))]
    assert (trace.producers.looked_at, trace.producers.with_context) == (2, 1)


def test_a_result_of_a_window_is_in_the_trace_of_its_batch_and_links_name_the_window() -> None:
    trace = Trace()
    starts = pa.array([60_000_000, 0, 120_000_000, 0], pa.timestamp("us", "UTC"))
    table = pa.table({"k": ["a", "b", "c", "d"], "_emission": ["final"] * 4, "_window_start": starts})
    assert _written(trace, table) == ["own"] * 4
    assert list(trace.producers.links.values()) == [Link(TraceParent(7, 8), 60_000_000)]
    assert trace.producers.looked_at == 0


def test_rows_of_a_source_whose_contexts_are_off_are_in_the_trace_of_their_batch() -> None:
    trace = Trace(follows=False)
    assert _written(trace, pa.table({"k": ["a", "b"]})) == ["own"] * 2
    assert not trace.producers.links
    assert trace.producers.looked_at == 0


@pytest.mark.parametrize(("more", "follows"), [("", True), (", 'trace.context' = 'auto'", True), (", 'trace.context' = 'OFF'", False)])
def test_a_source_says_whether_its_contexts_count(more: str, follows: bool) -> None:
    (job,) = compile_sql(TEXT.format(more), "t.sql", {}).plan.jobs
    assert follows_context(job.reads[0]) is follows
