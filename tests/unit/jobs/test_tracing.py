"""What a job hands to its collector: which outputs follow the traces of their rows, and how many rows came with one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from windrow.compiler import compile_sql
from windrow.jobs.span_export import SpanExport
from windrow.jobs.tracing import Tracing
from windrow.observe.batch_trace import Span
from windrow.observe.traces import Link, Producers, TraceParent
from windrow.spark.execution.batch import BatchResult

KAFKA = "'connector' = 'kafka', 'topic' = '{}', 'bootstrap.servers' = 'b:9092', 'format' = 'json'"
SQL = f"""
CREATE STREAM t (k STRING) WITH ({KAFKA.format("t")});
CREATE STREAM u (k STRING) WITH ({KAFKA.format("u")}, 'trace.context' = 'off');
CREATE STREAM followed AS SELECT k FROM t WITH ({KAFKA.format("a")});
CREATE STREAM plain AS SELECT k FROM u WITH ({KAFKA.format("b")});
CREATE STREAM mixed AS SELECT k FROM t UNION ALL SELECT k FROM u WITH ({KAFKA.format("c")});
"""


class Collector:
    def __init__(self) -> None:
        self.spans: list[Span] = []

    def send(self, spans: Iterable[Span]) -> None:
        self.spans += spans


def _tracing() -> tuple[Tracing, Any, Collector]:
    (job,) = compile_sql(SQL, "t.sql", {}).plan.jobs
    collector = Collector()
    return Tracing(job, "id", cast("SpanExport", collector)), job, collector


def test_an_output_follows_the_traces_of_its_rows_unless_a_source_of_them_is_off() -> None:
    tracing, job, _ = _tracing()
    traces = {write.input: tracing.write_trace(1, write) for write in job.writes}
    assert {name: trace.follows for name, trace in traces.items() if trace is not None} == {
        "followed": True,
        "plain": False,
        "mixed": False,
    }


def test_rows_are_counted_with_the_batch_that_is_committed() -> None:
    tracing, job, collector = _tracing()
    write = next(one for one in job.writes if one.input == "followed")
    trace, producers = tracing.write_trace(1, write), Producers()
    assert trace is not None
    trace.see([str(TraceParent(1, 2)), None])
    producers.see([str(TraceParent(1, 3))])
    tracing.committed(BatchResult(1), producers)
    assert (tracing.rows_seen, tracing.rows_with_context) == (3, 2)
    assert collector.spans[0].links == (Link(TraceParent(1, 3)),)
    tracing.committed(BatchResult(2), Producers())
    assert (tracing.rows_seen, tracing.rows_with_context) == (3, 2)
